/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_vm_guest;

/* Connections to libvirt, for one thread of the caller's.  libvirt's event loop has a
 * thread of its own.  No call waits more than 30 s for a daemon that hangs. */
struct clv_vm_host;

#define CLV_VM_URI "qemu:///system"

/* Connects to the libvirt of each URI; uris is separated by commas.  One that does not
 * answer is a problem, and the others are used.  -ECONNREFUSED: none answers. */
int clv_vm_host_open(const char *uris, struct clv_vm_host **ret, struct clv_error *err);
struct clv_vm_host *clv_vm_host_free(struct clv_vm_host *host);
CLV_DEFINE_CLEANUP(struct clv_vm_host *, clv_vm_host_free)
#define _cleanup_host_ CLV_CLEANUP(clv_vm_host_freep)

/* Why domains are missing, a line each; NULL behind the last.  Borrowed. */
const char *clv_vm_host_problem(const struct clv_vm_host *host, size_t at);

struct clv_vm_guests {
	struct clv_vm_guest *items; /* owned; they borrow from the host */
	size_t n;
	bool is_complete; /* all libvirts answered */
};

/* All domains.  One that libvirt gives no XML for, or whose XML cannot be parsed, is left
 * out and is a problem; the list is not complete then.  -ENOMEM. */
int clv_vm_host_list(
	struct clv_vm_host *host, struct clv_vm_guests *ret, struct clv_error *err);
/* Those of one URI, in any order; is_complete: it answered, and all were read. */
int clv_vm_host_list_of(struct clv_vm_host *host, const char *uri,
	struct clv_vm_guests *ret, struct clv_error *err);
/* The first of its libvirts: the URI, and the name of the machine, NULL if it gives none.
 * Borrowed. */
const char *clv_vm_host_uri(const struct clv_vm_host *host);
const char *clv_vm_host_name(const struct clv_vm_host *host);
/* How many libvirts there are connections to. */
size_t clv_vm_host_count(const struct clv_vm_host *host);
/* Reads one of them again.  Errors as those of host/change.h, or -EBADMSG; the guest is
 * unchanged then. */
int clv_vm_host_reread(const struct clv_vm_host *host, struct clv_vm_guest *guest,
	struct clv_error *err);
/* Reads the domain of this UUID at this URI; errors as above.  The caller clears *ret. */
int clv_vm_host_read(const struct clv_vm_host *host, const char *uri, const char *uuid,
	struct clv_vm_guest *ret, struct clv_error *err);
void clv_vm_guests_clear(struct clv_vm_guests *guests);
#define _cleanup_guests_ CLV_CLEANUP(clv_vm_guests_clear)

/* Whether the guest is on this machine, where the partitions of its agent are. */
bool clv_vm_host_is_local(const struct clv_vm_guest *guest);
