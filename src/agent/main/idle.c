/* SPDX-License-Identifier: Apache-2.0 */
/* The exit of an idle agent that was started on demand.  A client may connect just before
 * the exit: so the socket's path is removed first, and restored if a connection is
 * waiting.  Requests that became readable in the same iteration of the loop are handled
 * before the timer. */
#include "agent/main/idle.h"

#include "agent/apply/apply.h"
#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/main/api-socket.h"
#include "agent/record/agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct clv_idle {
	struct clv_agent *agent;
	sd_event_source *timer;
};

void clv_idle_touch(struct clv_idle *idle)
{
	if (!idle)
		return;
	sd_event_source_set_time_relative(
		idle->timer, (uint64_t)idle->agent->config.idle_exit_s * 1000000);
	sd_event_source_set_enabled(idle->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_idle *idle = userdata;
	struct clv_agent *agent = idle->agent;

	if (!TAILQ_EMPTY(clv_ledger_leases(agent->ledger)) ||
		clv_http_count_waiting(agent->http) > 0 ||
		clv_http_has_input(agent->http) || clv_apply_is_busy(agent->apply)) {
		clv_idle_touch(idle);
		return 0;
	}
	if (!clv_api_socket_try_remove(agent)) {
		clv_idle_touch(idle);
		return 0;
	}
	clv_log_info(
		"no lease and no request for %u s: exiting", agent->config.idle_exit_s);
	return sd_event_exit(agent->event, 0);
}

int clv_idle_new(struct clv_agent *agent, struct clv_idle **ret, struct clv_error *err)
{
	struct clv_idle *idle;
	int r;

	*ret = NULL;
	if (agent->config.idle_exit_s == 0)
		return 0;
	idle = calloc(1, sizeof(*idle));
	if (!idle)
		return clv_error_errno(err, ENOMEM, "cannot watch for idleness");
	idle->agent = agent;
	r = sd_event_add_time(agent->event, &idle->timer, CLOCK_MONOTONIC, UINT64_MAX, 0,
		on_timer, idle);
	if (r >= 0)
		r = sd_event_source_set_priority(idle->timer, SD_EVENT_PRIORITY_IDLE);
	if (r < 0) {
		sd_event_source_disable_unref(idle->timer);
		free(idle);
		return clv_error_errno(err, -r, "cannot watch for idleness");
	}
	clv_idle_touch(idle);
	*ret = idle;
	return 0;
}

struct clv_idle *clv_idle_free(struct clv_idle *idle)
{
	if (!idle)
		return NULL;
	sd_event_source_disable_unref(idle->timer);
	free(idle);
	return NULL;
}
