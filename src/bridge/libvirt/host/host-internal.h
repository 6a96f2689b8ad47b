/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/compare.h"
#include "bridge/libvirt/host/host.h"

#include <libvirt/libvirt.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Shared by the files of this room. */

struct clv_vm_link {
	char *uri;
	char *name; /* of the machine, as its libvirt reports it */
	virConnect *connection;
};

struct clv_vm_host {
	struct clv_vm_link *links;
	size_t n_links;
	char (*problems)[512];
	size_t n_problems;
	bool is_cut_off; /* a link did not answer, or a domain could not be read */
};

CLV_DEFINE_CLEANUP(virDomain *, virDomainFree)

/* Stores the error of libvirt's last call: -ENOENT, no such domain; -EPERM; -ENOTSUP, the
 * driver cannot do that; -ECONNREFUSED, the connection is lost; else -EIO. */
int clv_vm_fail(struct clv_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The domain of a guest; the caller frees it.  NULL: it is gone, or its libvirt is. */
virDomain *clv_vm_look_up(const struct clv_vm_host *host,
	const struct clv_vm_guest *guest, struct clv_error *err);

/* Starts the thread of libvirt's event loop, once for the process: it handles events, and
 * notices a daemon that hangs, also while another thread waits for libvirt's answer.
 * False: it cannot be started. */
bool clv_vm_loop_start(void);

/* For timed waits until a moment of the monotonic clock, that in so many milliseconds. */
void clv_vm_cond_init(pthread_cond_t *ret);
struct timespec clv_vm_deadline(int timeout_ms);

/* Connects to the libvirt of the URI, in 30 s at most; a call on the connection fails
 * when the daemon has not answered for as long.  The caller closes it.  NULL: see err. */
virConnect *clv_vm_open(const char *uri, struct clv_error *err);
