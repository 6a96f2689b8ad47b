/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/compare.h"
#include "bridge/libvirt/host/change.h"
#include "bridge/libvirt/host/host.h"
#include "cli/vm/vm.h"

struct clv_client;
struct clv_error;

/* What the verbs for virtual machines work on: the agent, libvirt, and both lists.  Not
 * interruptible: a signal ends the program, and cleave vms shows what was left. */
struct clv_vm_session {
	const struct clv_vm_settings *settings;
	struct clv_client *client;
	struct clv_vm_host *host;
	struct clv_vm_inventory inventory;
	struct clv_vm_guests guests;
};

/* Returns 0, or an exit code after printing the error.  The caller calls
 * clv_vm_session_end() in both cases. */
int clv_vm_session_begin(
	const struct clv_vm_settings *settings, struct clv_vm_session *ret);
void clv_vm_session_end(struct clv_vm_session *session);
#define _cleanup_session_ CLV_CLEANUP(clv_vm_session_end)

/* Reads both lists again; pointers into them are void. */
int clv_vm_session_refresh(struct clv_vm_session *session);

/* Reads one virtual machine again, of the same UUID; errors are left to the next list. */
void clv_vm_session_reread_guest(struct clv_vm_session *session, const char *uuid);

/* Reads the agent's list again. */
int clv_vm_session_reread(struct clv_vm_session *session);

/* The virtual machine of that name or UUID.  NULL after printing the error: there is
 * none, or two. */
const struct clv_vm_guest *clv_vm_session_find(
	const struct clv_vm_session *session, const char *name);

/* Prints the problems of libvirt's connections on stderr. */
void clv_vm_session_print_problems(const struct clv_vm_session *session);

/* What --timeout, with its default for 0, and --force say; no descriptor interrupts it.
 */
struct clv_vm_stop_options clv_vm_session_stop_options(uint64_t timeout_ns, bool force);

/* From here on signals do not end the program, and can be read from *ret_fd, which the
 * caller closes.  Returns 0, or an exit code after printing the error. */
int clv_vm_session_hold_signals(int *ret_fd);

/* Prints an error of the bridge; returns its exit code. */
int clv_vm_session_fail(const struct clv_error *err);

/* Requests a lease of the partition for the virtual machine.  Returns 0, or an exit code
 * after printing the error. */
int clv_vm_session_lease(struct clv_vm_session *session, const struct clv_vm_guest *guest,
	const struct clv_vm_partition *partition, struct clv_vm_lease *ret);
int clv_vm_session_release(struct clv_vm_session *session, const char *lease);

/* Writes the partitions of the virtual machine into its metadata. */
int clv_vm_session_note(const struct clv_vm_session *session,
	const struct clv_vm_guest *guest, bool shuts_down, struct clv_error *err);

/* Prints these virtual machines of the sessions, as the verb vms does.  Returns an exit
 * code. */
int clv_vm_session_show(const struct clv_vm_session *const *sessions, size_t n_sessions,
	const char *const *uuids, size_t n_uuids);
