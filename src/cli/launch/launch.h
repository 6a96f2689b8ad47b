/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/launch/lease-request.h"

#include <cleave.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* Runs a program in a lease, for `cleave run` and `cleave profile`. */

/* Callbacks for a caller that watches the lease while the program runs. */
struct clv_launch_callbacks {
	uint64_t every_ns;
	/* The lease was refused; called before the error is printed.  May be NULL. */
	void (*refused)(void *userdata, struct clv_client *client,
		const struct clv_client_error *err);
	void (*begin)(void *userdata, const json_t *lease);
	void (*tick)(void *userdata, pid_t main_pid);
	void *userdata;
};

/* How a program is started in a lease.  The first member of the settings of those verbs.
 */
struct clv_launch_settings {
	struct clv_lease_settings
		request;   /* used for the agent, --wait, and whole leases */
	const char *lease; /* the lease to join; NULL: create one */
	const char *if_no_agent;
	bool allow_ungated;
	bool no_namespace;
};

/* Gets a lease, by the request or settings->lease, and runs argv in it.  Sets the command
 * of the request itself; watch may be NULL.  Returns the exit code. */
int clv_launch(const struct clv_launch_settings *settings, char **argv,
	const struct clv_client_lease_request *request,
	const struct clv_launch_callbacks *watch);
