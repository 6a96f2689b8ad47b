/* SPDX-License-Identifier: Apache-2.0 */
/* The way back of a move.  What a step of the move really did is asked of the libvirts
 * and agents, because its answer may have been lost. */
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/vm/move.h"

#include <stdio.h>
#include <string.h>

/* The steps of the way back return 0, or print what could not be undone. */

/* The error of a step, and then what is left and how to go on by hand. */
static int fail(
	const struct clv_vm_move *move, const struct clv_error *why, const char *left)
{
	if (why)
		clv_vm_session_fail(why);
	return clv_cli_fail(CLV_EXIT_FAILED,
		"%.100s was not moved, and not all is undone: %s; \"After a move that "
		"did "
		"not end\" in docs/vms.md has the commands",
		move->guest->config.name, left);
}

/* Nothing is done here while it may run there. */
static int check_there(struct clv_vm_move *move)
{
	enum clv_vm_presence presence;
	struct clv_error err = {0};
	char left[256];

	if (!move->is_starting)
		return 0;
	if (clv_vm_find_presence(move->there->host, &move->moved, &presence, &err) < 0) {
		snprintf(left, sizeof(left),
			"it may run on %.100s, and is off here; do not start it here "
			"before it is undefined there",
			move->host);
		return fail(move, &err, left);
	}
	if (presence != CLV_VM_RUNS)
		return 0;
	snprintf(left, sizeof(left), "it runs on %.100s, and is off here", move->host);
	return fail(move, NULL, left);
}

/* Defining it once more changes nothing. */
static int define_here(struct clv_vm_move *move)
{
	enum clv_vm_presence presence;
	struct clv_error err = {0};
	char left[256];
	int r;

	if (!move->is_undefining)
		return 0;
	r = clv_vm_find_presence(move->here->host, move->guest, &presence, &err);
	if (r >= 0)
		r = clv_vm_define(move->here->host, move->guest, move->definition, &err);
	if (r >= 0)
		return 0;
	snprintf(left, sizeof(left), "%.100s keeps its definition and partitions",
		move->host);
	return fail(move, &err, left);
}

/* Not before it is known to be undefined there: the next boot here would start it. */
static int autostart_here(struct clv_vm_move *move)
{
	struct clv_error err = {0};

	if (!move->is_undefining || !move->is_autostarted ||
		clv_vm_set_autostart(move->here->host, move->guest, true, &err) >= 0)
		return 0;
	return fail(move, &err, "it does not start with this host any more");
}

/* A start whose answer was lost may still be carried out; after the domain is gone it
 * finds none. */
static int undefine_there(struct clv_vm_move *move)
{
	enum clv_vm_presence presence;
	struct clv_error err = {0};
	char left[256];
	int r;

	if (!move->is_defining)
		return 0;
	r = clv_vm_find_presence(move->there->host, &move->moved, &presence, &err);
	if (r >= 0 && presence != CLV_VM_ABSENT) {
		r = clv_vm_undefine(move->there->host, &move->moved, &err);
		if (r >= 0)
			r = clv_vm_find_presence(
				move->there->host, &move->moved, &presence, &err);
	}
	if (r >= 0 && presence == CLV_VM_ABSENT)
		return 0;
	snprintf(left, sizeof(left),
		move->is_starting
			? "%.100s still has its definition and partitions; do not start "
			  "it here before it is undefined there"
			: "%.100s may still have its definition and partitions; undefine "
			  "it there",
		move->host);
	return fail(move, r < 0 ? &err : NULL, left);
}

/* All of the machine's: there were none before. */
static int release_there(struct clv_vm_move *move)
{
	const struct clv_vm_inventory *inventory = &move->there->inventory;
	char left[256];
	int result;

	if (!move->is_leasing)
		return 0;
	result = clv_vm_session_reread(move->there);
	for (size_t i = 0; !result && i < inventory->n_leases; i++) {
		if (strcmp(inventory->leases[i].vm, move->guest->config.uuid) == 0)
			result = clv_vm_session_release(
				move->there, inventory->leases[i].id);
	}
	if (!result)
		return 0;
	snprintf(left, sizeof(left), "%.100s may still have its leases", move->host);
	return fail(move, NULL, left);
}

static int start_here(struct clv_vm_move *move)
{
	enum clv_vm_presence presence;
	struct clv_error err = {0};
	int r;

	if (!move->is_asked)
		return 0;
	r = clv_vm_find_presence(move->here->host, move->guest, &presence, &err);
	if (r >= 0 && presence == CLV_VM_RUNS) {
		clv_output_line(stderr,
			"%s still runs, and may shut down later: virsh start then starts "
			"it again",
			move->guest->config.name);
		return 0;
	}
	if (r >= 0)
		r = clv_vm_start(move->here->host, move->guest, &err);
	return r < 0 ? fail(move, &err, "it is off here, and has its partitions") : 0;
}

int clv_vm_move_undo(struct clv_vm_move *move, int exit_code)
{
	bool is_undone;

	if (check_there(move) || define_here(move))
		return CLV_EXIT_FAILED;
	is_undone = !undefine_there(move);
	if (!is_undone && move->is_starting)
		return CLV_EXIT_FAILED;
	is_undone = !autostart_here(move) && is_undone;
	is_undone = is_undone && !release_there(move);
	is_undone = !start_here(move) && is_undone;
	if (!is_undone)
		return CLV_EXIT_FAILED;
	clv_output_line(stderr, "%s was not moved: what was done is undone",
		move->guest->config.name);
	return exit_code;
}
