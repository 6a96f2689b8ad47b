/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct clv_supervisor;

/* What users ask for through the agent, which offers it with its answer to a report.  An
 * action may be offered again after it was carried out, because an answer was lost or the
 * supervisor before this one has ended: each is such that twice is as good as once. */
struct clv_actions;

/* on_change: an action has a new state.  NULL: out of memory. */
struct clv_actions *clv_actions_new(struct clv_supervisor *supervisor,
	void (*on_change)(void *userdata), void *userdata);
struct clv_actions *clv_actions_free(struct clv_actions *actions);

/* Begins those of an agent's answer that are new. */
void clv_actions_take(struct clv_actions *actions, const json_t *items);
/* Looks what became of them. */
void clv_actions_look(struct clv_actions *actions, const json_t *status);

/* What the agent does not know yet, a list of ActionResult within room bytes; the caller
 * owns it. */
json_t *clv_actions_results(const struct clv_actions *actions, size_t room);
/* The agent knows these. */
void clv_actions_tell(struct clv_actions *actions, const json_t *results);
