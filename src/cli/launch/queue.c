/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a queued lease.  On a terminal one line is updated; in a pipe each change of
 * the position is a line.  A wait that is given up releases the lease before this process
 * ends, so that the leases behind it move up at once. */
#include "cli/launch/queue.h"

#include "base/clock.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS 30000u
#define REDRAW_MS 1000u

struct queue {
	struct clv_client *client;
	bool is_live; /* a terminal that can rewrite a line */
	double shown_position;
	uint64_t since_ns;
	uint64_t deadline_ns; /* 0: none */
	int signal_fd;
};

static void show(struct queue *q, const json_t *lease)
{
	double position = clv_json_number(lease, "queue_position");
	uint64_t waited_s = (clv_clock_ns() - q->since_ns) / CLV_NS_PER_S;

	if (q->is_live)
		fprintf(stderr, "\r\033[Kwaiting for %s: position %.0f (%llu s)",
			clv_json_text(lease, "device"), position,
			(unsigned long long)waited_s);
	else if (position != q->shown_position)
		fprintf(stderr, "cleave: waiting for %s: position %.0f\n",
			clv_json_text(lease, "device"), position);
	q->shown_position = position;
}

static void clear(const struct queue *q)
{
	if (q->is_live && q->shown_position >= 0)
		fprintf(stderr, "\r\033[K");
}

static uint32_t next_wait_ms(const struct queue *q)
{
	uint32_t wait_ms = q->is_live ? REDRAW_MS : POLL_MS;
	uint64_t now_ns = clv_clock_ns(), left_ms;

	if (!q->deadline_ns)
		return wait_ms;
	left_ms = now_ns < q->deadline_ns ? (q->deadline_ns - now_ns) / CLV_NS_PER_MS + 1
					  : 0;
	return left_ms < wait_ms ? (uint32_t)left_ms : wait_ms;
}

/* Releases the lease by a new client without the signal descriptor: the descriptor is
 * still readable after the interrupted call, and would interrupt the next one. */
static int leave_on_signal(const struct queue *q, const char *id)
{
	struct clv_client_options options = {
		.socket_path = clv_client_get_socket(q->client)};
	_cleanup_client_ struct clv_client *client = NULL;
	int number = clv_signals_read(q->signal_fd);

	if (clv_client_new(&options, &client, NULL) == 0)
		clv_client_lease_release(client, id, false, NULL);
	return CLV_EXIT_SIGNAL + number;
}

static int give_up(const struct queue *q, const json_t *lease)
{
	clv_client_lease_release(q->client, clv_json_text(lease, "id"), false, NULL);
	return clv_cli_fail(CLV_EXIT_NO_FIT,
		"'%.64s' did not get its share of %s in time (position %.0f in the "
		"queue): wait longer, ask for less, or see cleave ps for its holders",
		clv_json_text(lease, "name"), clv_json_text(lease, "device"),
		clv_json_number(lease, "queue_position"));
}

static int fail_wait(
	const struct queue *q, const json_t *lease, const struct clv_client_error *err)
{
	if (err->error == -EINTR)
		return leave_on_signal(q, clv_json_text(lease, "id"));
	if (strcmp(err->code, "not_found") == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the lease '%.64s' was released while it was queued: start again "
			"if that was a mistake",
			clv_json_text(lease, "name"));
	return clv_cli_fail_client(err);
}

int clv_queue_wait(struct clv_client *client, const struct clv_opt_wait *wait,
	int signal_fd, json_t **lease)
{
	struct queue q = {
		.client = client,
		.is_live = clv_terminal_is_live(stderr),
		.shown_position = -1,
		.since_ns = clv_clock_ns(),
		.signal_fd = signal_fd,
	};

	if (wait->timeout_ns)
		q.deadline_ns = q.since_ns + wait->timeout_ns;
	while (strcmp(clv_json_text(*lease, "state"), "queued") == 0) {
		struct clv_client_error err;
		json_t *newer = NULL;

		if (q.deadline_ns && clv_clock_ns() >= q.deadline_ns) {
			clear(&q);
			return give_up(&q, *lease);
		}
		show(&q, *lease);
		if (clv_client_lease_wait(client, clv_json_text(*lease, "id"),
			    next_wait_ms(&q), &newer, &err) < 0) {
			clear(&q);
			return fail_wait(&q, *lease, &err);
		}
		json_decref(*lease);
		*lease = newer;
	}
	clear(&q);
	return 0;
}
