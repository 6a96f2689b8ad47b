/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the processes of a lease that the agent has ended. */
#include "cli/launch/lease-end.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cleave.h"
#include "cli/frame/cli.h"
#include "cli/launch/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* As the agent waits for attached processes. */
#define TERM_NS (5 * CLV_NS_PER_S)
#define POLL_NS (20 * CLV_NS_PER_MS)

/* Without an agent, and while one starts, a lease has not ended. */
static bool has_ended(const struct clv_lease_end *end)
{
	struct clv_client_options options = {.socket_path = end->agent_socket};
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_error err = {0};
	json_t *lease = NULL;

	if (clv_client_new(&options, &client, &err) < 0 ||
		clv_client_lease(client, clv_json_text(end->lease, "id"), &lease, &err) <
			0)
		return strcmp(err.code, "not_found") == 0;
	clv_json_free(lease);
	return false;
}

/* All signals are blocked here as in the parent. */
static void end_processes(const struct clv_lease_end *end, pid_t outsider)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	const pid_t without[2] = {getpid(), outsider};
	uint64_t kill_ns = clv_clock_ns() + TERM_NS;
	pid_t root = getppid();

	clv_cli_fail(0,
		"the lease %s has ended, because its time has expired or it was "
		"released by force: its program is ended",
		clv_json_text(end->lease, "name"));
	clv_tree_signal(root, without, SIGTERM);
	/* A stopped process gets the signal when it continues. */
	clv_tree_signal(root, without, SIGCONT);
	while (clv_tree_signal(root, without, 0) > 0) {
		if (clv_clock_ns() >= kill_ns)
			clv_tree_signal(root, without, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

void clv_lease_end_check(struct clv_lease_end *end, pid_t outsider)
{
	const char *socket = clv_json_text(end->lease, "socket");

	/* The supervisor reaps the child with the other children. */
	if (end->child > 0 && kill(end->child, 0) == 0)
		return;
	end->child = 0;
	if (!socket[0] || access(socket, F_OK) == 0 || errno != ENOENT)
		return;
	end->child = fork();
	if (end->child != 0)
		return;
	if (has_ended(end))
		end_processes(end, outsider);
	_exit(0);
}
