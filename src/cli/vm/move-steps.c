/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a move, and its end. */
#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"
#include "cli/vm/move.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static int lease_there(struct clv_vm_move *move)
{
	int r = 0;

	move->is_leasing = true;
	for (size_t i = 0; i < move->n_pairs && !r; i++) {
		struct clv_vm_pair *pair = &move->pairs[i];

		r = clv_vm_session_lease(
			move->there, move->guest, &pair->chosen, &pair->there);
	}
	return r;
}

static int check_interrupt(struct clv_vm_move *move, struct clv_error *err)
{
	struct pollfd signals = {.fd = move->stop.interrupt_fd, .events = POLLIN};

	if (poll(&signals, 1, 0) <= 0)
		return 0;
	return clv_error_set(err, -EINTR, "interrupted before %.100s was moved",
		move->guest->config.name);
}

/* An interrupt ends the wait, and nothing after it. */
static int stop_here(struct clv_vm_move *move, struct clv_error *err)
{
	int r;

	if (!move->guest->is_running)
		return 0;
	move->is_asked = true;
	r = clv_vm_stop(move->here->host, move->guest, &move->stop, err);
	if (r >= 0)
		clv_output_line(stderr, "%s is off", move->guest->config.name);
	return r;
}

/* What was saved, edited or attached until now is seen. */
static int read_definition(struct clv_vm_move *move, struct clv_error *err)
{
	const struct clv_vm_host *host = move->here->host;
	int r = clv_vm_check_movable(host, move->guest, &move->belongings, err);

	if (r >= 0)
		r = clv_vm_move_check_hostdevs(move, err);
	if (r >= 0)
		r = clv_vm_read_definition(host, move->guest, &move->definition, err);
	return r < 0 ? r
		     : clv_vm_get_autostart(
			       host, move->guest, &move->is_autostarted, err);
}

static int exchange(struct clv_vm_move *move, struct clv_error *err)
{
	_cleanup_free_ struct clv_vm_exchange *exchanges =
		calloc(move->n_pairs, sizeof(*exchanges));

	if (!exchanges)
		return clv_error_errno(err, ENOMEM, "cannot write XML");
	for (size_t i = 0; i < move->n_pairs; i++) {
		const struct clv_vm_pair *pair = &move->pairs[i];

		exchanges[i] = (struct clv_vm_exchange){pair->here.id, pair->there.id,
			pair->chosen.means, pair->chosen.address};
	}
	return clv_vm_domain_exchange(move->definition, strlen(move->definition),
		exchanges, move->n_pairs, &move->moved_definition, err);
}

/* One that came meanwhile is another's, which neither the move nor its way back touches.
 */
static int define_there(struct clv_vm_move *move, struct clv_error *err)
{
	enum clv_vm_presence presence;
	int r = exchange(move, err);

	if (r >= 0)
		r = clv_vm_find_presence(move->there->host, &move->moved, &presence, err);
	if (r < 0)
		return r;
	if (presence != CLV_VM_ABSENT)
		return clv_error_set(err, -EEXIST,
			"%.100s was defined on %.100s meanwhile: undefine it there",
			move->guest->config.name, move->host);
	move->is_defining = true;
	return clv_vm_define(
		move->there->host, &move->moved, move->moved_definition, err);
}

/* While the machine was not defined there, cleave vms --repair may have released its
 * leases. */
static int note_there(struct clv_vm_move *move, struct clv_error *err)
{
	if (clv_vm_session_reread(move->there))
		return clv_error_set(
			err, -ECONNREFUSED, "the agent of %.100s went away", move->host);
	for (size_t i = 0; i < move->n_pairs; i++) {
		const struct clv_vm_pair *pair = &move->pairs[i];

		if (!clv_vm_lease_by_id(&move->there->inventory, pair->there.id))
			return clv_error_set(err, -EBUSY,
				"the lease of %.100s on %.100s was released meanwhile: "
				"try again",
				pair->chosen.name, move->host);
	}
	return clv_vm_session_note(
		move->there, &move->moved, move->guest->config.shuts_down, err);
}

/* One that was started in between would run on without a definition. */
static int undefine_here(struct clv_vm_move *move, struct clv_error *err)
{
	enum clv_vm_presence presence;
	int r;

	move->is_undefining = true;
	r = clv_vm_undefine(move->here->host, move->guest, err);
	if (r >= 0)
		r = clv_vm_find_presence(move->here->host, move->guest, &presence, err);
	if (r < 0)
		return r;
	if (presence != CLV_VM_ABSENT)
		return clv_error_set(err, -EBUSY,
			"%.100s was started meanwhile: shut it down, and try again",
			move->guest->config.name);
	return 0;
}

/* It may run though the answer was lost. */
static int start_there(struct clv_vm_move *move, struct clv_error *err)
{
	enum clv_vm_presence presence;
	struct clv_error why = {0};
	int r;

	if (!move->guest->is_running)
		return 0;
	move->is_starting = true;
	r = clv_vm_start(move->there->host, &move->moved, err);
	if (r < 0 &&
		clv_vm_find_presence(move->there->host, &move->moved, &presence, &why) >=
			0 &&
		presence == CLV_VM_RUNS)
		return 0;
	return r;
}

static int fail(const struct clv_vm_move *move, const struct clv_error *err)
{
	int exit_code = clv_vm_session_fail(err);

	return err->code == -EINTR
		       ? CLV_EXIT_SIGNAL + clv_signals_read(move->stop.interrupt_fd)
		       : exit_code;
}

int clv_vm_move_carry_out(struct clv_vm_move *move)
{
	static int (*const steps[])(struct clv_vm_move * move, struct clv_error * err) = {
		check_interrupt, stop_here, read_definition, define_there, note_there,
		undefine_here, start_there};
	struct clv_error err = {0};
	int r = lease_there(move);

	if (r)
		return r;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(steps); i++) {
		if (steps[i](move, &err) < 0)
			return fail(move, &err);
	}
	return 0;
}

/* --- The end --- */

static int release_here(struct clv_vm_move *move)
{
	int result = 0;

	for (size_t i = 0; i < move->n_pairs; i++) {
		int r = clv_vm_session_release(move->here, move->pairs[i].here.id);

		result = r ? r : result;
	}
	return result;
}

/* Last, so that it does not start with a host to which it is not known to be moved. */
static int autostart_there(struct clv_vm_move *move)
{
	struct clv_error err = {0};

	if (!move->is_autostarted ||
		clv_vm_set_autostart(move->there->host, &move->moved, true, &err) >= 0)
		return 0;
	clv_vm_session_fail(&err);
	return clv_cli_fail(CLV_EXIT_FAILED,
		"%.100s was moved to %.100s, and does not start with it: virsh autostart "
		"there",
		move->moved.config.name, move->host);
}

int clv_vm_move_finish(struct clv_vm_move *move)
{
	const struct clv_vm_domain *moved = &move->moved.config;
	int is_incomplete = autostart_there(move);

	if (release_here(move))
		return clv_cli_fail(CLV_EXIT_FAILED,
			"%.100s was moved to %.100s, and its partitions here are not "
			"released: cleave unassign %s",
			moved->name, move->host, moved->uuid);
	return is_incomplete;
}
