/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_vm_belongings;
struct clv_vm_guest;
struct clv_vm_host;
struct clv_vm_note;

/* Changes of one domain.  Errors are libvirt's: -ENOENT, the domain is gone;
 * -ECONNREFUSED, libvirt is; -EPERM; -ENOTSUP; -EIO. */

/* Gives the domain the function that the XML describes: in its persistent XML, and if
 * live in the running domain too.  Both or neither. */
int clv_vm_attach(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *hostdev_xml, bool live, struct clv_error *err);

/* Takes the function with the alias out of the persistent XML. */
int clv_vm_detach(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *alias, struct clv_error *err);

/* Takes it out of the running domain, and waits until the guest has released it.
 * -ETIMEDOUT: it does not. */
int clv_vm_detach_live(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *alias, int timeout_ms, struct clv_error *err);

/* Replaces cleave's metadata in the persistent and in the running domain. */
int clv_vm_set_metadata(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const struct clv_vm_note *notes, size_t n_notes, bool shuts_down,
	struct clv_error *err);

/* Sets the 64-bit window of the persistent XML. */
int clv_vm_set_window(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	uint64_t bytes, struct clv_error *err);

/* How a guest is stopped. */
struct clv_vm_stop_options {
	int timeout_ms;
	bool force;       /* turn it off after that time */
	int interrupt_fd; /* ends the wait when it can be read; -1: none */
};

/* Asks the guest to shut down and waits until it is off.  -ETIMEDOUT: it does not shut
 * down; -EINTR: the wait was interrupted.  In both cases it may still do so. */
int clv_vm_stop(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const struct clv_vm_stop_options *stop, struct clv_error *err);
int clv_vm_start(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_error *err);

/* The persistent XML with its secrets, as clv_vm_define() takes it.  The caller frees
 * *ret. */
int clv_vm_read_definition(const struct clv_vm_host *host,
	const struct clv_vm_guest *guest, char **ret, struct clv_error *err);
/* Defines the guest at its libvirt, guest->uri. */
int clv_vm_define(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *xml, struct clv_error *err);
/* -EBUSY: it runs.  The file of its firmware's variables stays, and the state of its TPM
 * where libvirt can keep it (8.9). */
int clv_vm_undefine(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_error *err);

/* Whether it starts with its host. */
int clv_vm_get_autostart(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	bool *ret, struct clv_error *err);
int clv_vm_set_autostart(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	bool is_wanted, struct clv_error *err);

/* What a libvirt has of a guest. */
enum clv_vm_presence {
	CLV_VM_ABSENT, /* it is not defined */
	CLV_VM_OFF,
	CLV_VM_RUNS,
};

/* Asks for it, over a new connection if the one before was lost; a guest that is just
 * being started is waited for.  An error: it is not known. */
int clv_vm_find_presence(struct clv_vm_host *host, const struct clv_vm_guest *guest,
	enum clv_vm_presence *ret, struct clv_error *err);

/* -EBUSY or -ENOTSUP, with the reason: something of it would stay behind or be lost when
 * it is undefined, such as its saved memory or the state of a TPM.  ret is for the rest,
 * which both hosts have to reach. */
int clv_vm_check_movable(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_vm_belongings *ret, struct clv_error *err);

/* The 64-bit addresses that the functions of these PCI addresses need, from sysfs; those
 * that do not exist need none. */
uint64_t clv_vm_window_of(const char *const *addresses, size_t n);
