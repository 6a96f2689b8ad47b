/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cleave.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_settings;

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

/* Of the settings: where the agent is, whether and how long to wait, and what is said of
 * namespaces.  The request's command is filled in.  watch may be NULL.  Returns the exit
 * code. */
int clv_launch(const struct clv_settings *settings, char **argv,
	const struct clv_client_lease_request *request,
	const struct clv_launch_watch *watch);
