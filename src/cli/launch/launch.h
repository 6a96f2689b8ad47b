/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/launch/lease-request.h"

#include <cleave.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* A program in a lease of its own: what `cleave run` and `cleave profile` have in common.
 */

/* Who looks at the lease while the program runs. */
struct clv_launch_watch {
	uint64_t every_ns;
	/* The lease was refused; the error is told behind this.  NULL: nothing to add. */
	void (*refused)(void *userdata, struct clv_client *client,
		const struct clv_client_error *err);
	void (*begin)(void *userdata, const json_t *lease);
	void (*tick)(void *userdata, pid_t main_pid);
	void *userdata;
};

/* How a program is started in a lease.  First in the settings of the verbs that do so. */
struct clv_launch_settings {
	struct clv_lease_settings request; /* here: the agent, the wait, what is whole */
	const char *lease;                 /* one to join; NULL: a new one is made */
	const char *if_no_agent;
	bool allow_ungated;
	bool no_namespace;
};

/* The request's command is filled in.  watch may be NULL.  Returns the exit
 * code. */
int clv_launch(const struct clv_launch_settings *settings, char **argv,
	const struct clv_client_lease_request *request,
	const struct clv_launch_watch *watch);
