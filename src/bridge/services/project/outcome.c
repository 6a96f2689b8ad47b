/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/services/project/outcome.h"

#include "base/cleanup.h"
#include "bridge/services/project/control.h"

#include <stddef.h>
#include <string.h>

enum clv_outcome clv_outcome_of(const json_t *service)
{
	static const struct {
		const char *state;
		enum clv_outcome outcome;
	} states[] = {
		{"ready", CLV_OUTCOME_DONE},
		{"asleep", CLV_OUTCOME_DONE},
		{"off", CLV_OUTCOME_DONE},
		{"complete", CLV_OUTCOME_DONE},
		{"no room", CLV_OUTCOME_NO_ROOM},
		{"failing", CLV_OUTCOME_FAILING},
		{"failed", CLV_OUTCOME_FAILED},
	};
	const char *state = clv_control_text(service, "state");

	for (size_t i = 0; i < CLV_ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].state, state) == 0)
			return states[i].outcome;
	}
	return CLV_OUTCOME_WAITS;
}

/* Whether a replica of any service starts or stops: once it has, another service may have
 * room. */
static bool is_in_progress(const json_t *status)
{
	static const char *const states[] = {
		"creating", "starting", "draining", "removing"};
	const json_t *service, *replica;
	size_t i, j;

	json_array_foreach (json_object_get(status, "services"), i, service) {
		json_array_foreach (json_object_get(service, "replicas"), j, replica) {
			for (size_t k = 0; k < CLV_ARRAY_SIZE(states); k++) {
				if (strcmp(states[k],
					    clv_control_text(replica, "state")) == 0)
					return true;
			}
		}
	}
	return false;
}

bool clv_outcome_is_bad(const json_t *status, enum clv_outcome outcome)
{
	return outcome == CLV_OUTCOME_FAILING ||
	       (outcome == CLV_OUTCOME_NO_ROOM && !is_in_progress(status));
}
