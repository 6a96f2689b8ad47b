/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/project/project.h"

#include <jansson.h>
#include <systemd/sd-event.h>

/* Requests to supervisors of other projects, from the loop. */

struct clv_peer_call;

/* Asks the supervisor of another project, and does not wait.  on_answer is called once
 * from the loop; answer is borrowed, NULL: it has none.  Returns NULL if none runs. */
struct clv_peer_call *clv_peer_ask(sd_event *event, const struct clv_project *project,
	const json_t *request,
	void (*on_answer)(void *userdata, struct clv_peer_call *call, json_t *answer),
	void *userdata);
const char *clv_peer_get_project(const struct clv_peer_call *call);
/* on_answer is not called any more.  Accepts NULL. */
void clv_peer_free(struct clv_peer_call *call);
