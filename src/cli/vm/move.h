/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/inventory.h"
#include "cli/vm/session.h"

/* A move of a virtual machine: move-plan.c prepares and shows it, move-steps.c carries it
 * out, move-undo.c goes back. */

struct clv_vm_peer;

/* A partition here and the one that takes its place. */
struct clv_vm_pair {
	struct clv_vm_lease here, there; /* there is made by the move */
	struct clv_vm_partition partition, chosen;
};

struct clv_vm_move {
	const char *host;                    /* as the user named it; borrowed */
	struct clv_vm_session *here, *there; /* borrowed */
	struct clv_vm_stop_options stop;
	const struct clv_vm_guest *guest; /* here; as it was before the move */
	struct clv_vm_guest moved;        /* there; its strings are those of guest */
	struct clv_vm_pair *pairs;        /* owned */
	size_t n_pairs;
	struct clv_vm_belongings belongings;
	char *definition, *moved_definition; /* owned */
	bool is_autostarted;
	/* What was begun; whether it was done is asked again on the way back, because an
	 * answer may be lost. */
	bool is_leasing, is_defining, is_undefining, is_starting;
	bool is_asked; /* to shut down, which it may do later */
};

/* A move to the peer.  The caller calls clv_vm_move_end(). */
struct clv_vm_move clv_vm_move_begin(const struct clv_vm_move_settings *settings,
	struct clv_vm_session *here, struct clv_vm_peer *peer, int interrupt_fd);
void clv_vm_move_end(struct clv_vm_move *move);
#define _cleanup_move_ CLV_CLEANUP(clv_vm_move_end)

/* Chooses the partitions that the guest, of the session here, gets there, and marks them
 * as held in the inventory.  Changes nothing else.  Errors as clv_vm_session_fail() takes
 * them; the guest cannot be moved to that host then. */
int clv_vm_move_plan(struct clv_vm_move *move, const struct clv_vm_guest *guest,
	struct clv_error *err);

/* -EBUSY: besides the partitions it has a device of this host. */
int clv_vm_move_check_hostdevs(const struct clv_vm_move *move, struct clv_error *err);

/* Prints on stderr what is going to happen. */
void clv_vm_move_show(const struct clv_vm_move *move);

/* Each step after the other.  Returns 0, or an exit code after printing the error. */
int clv_vm_move_carry_out(struct clv_vm_move *move);

/* Undoes what was done, each step only if those before it are known to be: a machine is
 * never started here while it may run there.  Prints what was and what was not undone.
 * Returns exit_code, or that of a move that is undone in part. */
int clv_vm_move_undo(struct clv_vm_move *move, int exit_code);

/* After it was carried out: autostart there, and the leases here.  What fails is no
 * reason to go back.  Returns 0, or an exit code after printing the error. */
int clv_vm_move_finish(struct clv_vm_move *move);
