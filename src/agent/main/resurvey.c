/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/main/resurvey.h"

#include "agent/device/hardware.h"
#include "agent/record/agent.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_US UINT64_C(1000000)
#define LONGEST_US (60 * FIRST_US)

struct clv_resurvey {
	struct clv_agent *agent;
	sd_event_source *timer;
	uint64_t after_us; /* until the next question */
};

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_resurvey *resurvey = userdata;

	clv_hardware_survey(resurvey->agent->hardware);
	return 0;
}

int clv_resurvey_new(
	struct clv_agent *agent, struct clv_resurvey **ret, struct clv_error *err)
{
	struct clv_resurvey *resurvey = calloc(1, sizeof(*resurvey));
	int r = resurvey ? sd_event_add_time_relative(agent->event, &resurvey->timer,
				   CLOCK_MONOTONIC, FIRST_US, 0, on_timer, resurvey)
			 : -ENOMEM;

	if (r < 0) {
		clv_resurvey_free(resurvey);
		return clv_error_errno(err, -r, "cannot prepare to ask drivers again");
	}
	sd_event_source_set_enabled(resurvey->timer, SD_EVENT_OFF);
	resurvey->agent = agent;
	resurvey->after_us = FIRST_US;
	*ret = resurvey;
	return 0;
}

struct clv_resurvey *clv_resurvey_free(struct clv_resurvey *resurvey)
{
	if (resurvey)
		sd_event_source_disable_unref(resurvey->timer);
	free(resurvey);
	return NULL;
}

/* A wait that has begun goes on: the answers to other questions do not lengthen it. */
void clv_resurvey_answered(struct clv_resurvey *resurvey)
{
	int is_waiting = SD_EVENT_OFF;

	if (clv_hardware_node(resurvey->agent->hardware)->n_problems == 0) {
		sd_event_source_set_enabled(resurvey->timer, SD_EVENT_OFF);
		resurvey->after_us = FIRST_US;
		return;
	}
	sd_event_source_get_enabled(resurvey->timer, &is_waiting);
	if (is_waiting != SD_EVENT_OFF)
		return;
	sd_event_source_set_time_relative(resurvey->timer, resurvey->after_us);
	sd_event_source_set_enabled(resurvey->timer, SD_EVENT_ONESHOT);
	if (resurvey->after_us < LONGEST_US)
		resurvey->after_us *= 2;
	if (resurvey->after_us > LONGEST_US)
		resurvey->after_us = LONGEST_US;
}
