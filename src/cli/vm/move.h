/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/inventory.h"
#include "cli/vm/forward.h"
#include "cli/vm/session.h"

/* A move of a virtual machine: move.c prepares and shows it, move-steps.c carries it out,
 * move-undo.c goes back. */

/* A partition here and the one that takes its place. */
struct clv_vm_pair {
	struct clv_vm_lease here, there; /* there is made by the move */
	struct clv_vm_partition partition, chosen;
};

struct clv_vm_move {
	const struct clv_vm_move_settings *settings;
	const char *host; /* as the user named it */
	char uri[256];    /* of its libvirt, by ssh */
	struct clv_vm_settings there_settings;
	struct clv_vm_forward forward;
	struct clv_vm_session here, there;
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

/* Each step after the other.  Returns 0, or an exit code after printing the error. */
int clv_vm_move_carry_out(struct clv_vm_move *move);

/* Undoes what was done, each step only if those before it are known to be: a machine is
 * never started here while it may run there.  Prints what was and what was not undone.
 * Returns exit_code, or that of a move that is undone in part. */
int clv_vm_move_undo(struct clv_vm_move *move, int exit_code);
