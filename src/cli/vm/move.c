/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vm move.  The partitions of the other host are leased first, so that no other
 * gets them, and those here are released last, so that the way back is open.  The machine
 * is off while it is defined at both.  Signals that would end the command are held from
 * the first lease on; docs/vms.md lists what a program that is killed leaves. */
#include "cli/vm/move.h"

#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/vm/actions.h"
#include "cli/vm/peer.h"

#include <stdio.h>
#include <unistd.h>

static int show_plan(
	const struct clv_vm_move_settings *settings, const struct clv_vm_move *move)
{
	const struct clv_change change = {
		.common = &settings->vm.common,
		.is_confirmed = settings->yes,
		.signal_fd = move->stop.interrupt_fd,
	};
	char loss[160];

	clv_vm_move_show(move);
	snprintf(loss, sizeof(loss), "%.100s would be shut down",
		move->guest->config.name);
	return clv_change_confirm(
		&change, "Move?", move->guest->is_running ? loss : NULL);
}

static int show(struct clv_vm_move *move)
{
	const struct clv_vm_session *there = move->there;
	const char *uuid = move->moved.config.uuid;
	int r = clv_vm_session_refresh(move->there);

	if (!r)
		r = clv_vm_session_show(&there, 1, &uuid, 1);
	if (r)
		clv_output_line(stderr, "%s was moved to %s", move->moved.config.name,
			move->host);
	return r;
}

static int carry_out(struct clv_vm_move *move)
{
	int result, r = clv_vm_move_carry_out(move);

	if (r)
		return clv_vm_move_undo(move, r);
	result = clv_vm_move_finish(move);
	r = show(move);
	return result ? result : r;
}

static int move_guest(const struct clv_vm_move_settings *settings,
	struct clv_vm_session *here, struct clv_vm_peer *peer, const char *name)
{
	const struct clv_vm_guest *guest = clv_vm_session_find(here, name);
	_cleanup_move_ struct clv_vm_move move = {.stop = {.interrupt_fd = -1}};
	struct clv_error err = {0};
	int r = guest ? clv_vm_peer_begin(peer) : CLV_EXIT_USAGE, fd = -1;

	if (!r)
		r = clv_vm_session_hold_signals(&fd);
	if (r)
		return r;
	move = clv_vm_move_begin(settings, here, peer, fd);
	if (clv_vm_move_plan(&move, guest, &err) < 0)
		r = clv_vm_session_fail(&err);
	if (!r)
		r = show_plan(settings, &move);
	if (!r)
		r = carry_out(&move);
	close(fd);
	return r;
}

int clv_vm_run_move(const struct clv_vm_move_settings *settings, int argc, char **argv)
{
	_cleanup_session_ struct clv_vm_session here = {0};
	_cleanup_peer_ struct clv_vm_peer peer = {0};
	int r = clv_vm_peer_prepare(argv[1], settings, &peer);

	if (!r)
		r = clv_vm_session_begin(&settings->vm, &here);
	return r ? r : move_guest(settings, &here, &peer, argv[0]);
}
