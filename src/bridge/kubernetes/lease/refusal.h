/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;

/* Sets err, with code r, to an error of the agent for the authors of pods and claims:
 * they read it in events, and have no command line of cleave, which the end of the
 * agent's message is about.  Returns r. */
int clv_kube_refuse(int r, const char *agent_msg, struct clv_error *err);

/* The same for a lease that does not fit now, with what would help instead.  is_claim:
 * kubelet tries again; it does not with a pod that has a resource. */
int clv_kube_refuse_room(
	int r, const char *agent_msg, bool is_claim, struct clv_error *err);
