/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/health.h"

#include <jansson.h>
#include <stdint.h>

struct clv_agent;
struct clv_agent_device;

/* What is known of how a whole device is and what it does: the last reading, and its
 * health with the events of its changes.  Loop thread only. */
struct clv_condition {
	struct clv_reading reading; /* the last; nothing is said where it is too old */
	struct clv_health health;
	uint64_t since_real_ns; /* the health is as it is; 0: since the agent's start */
	bool is_hanging;        /* it was said in this second */
};

/* Takes a reading (its processes too: it is empty afterwards) of the device. */
void clv_condition_take(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_reading *reading);

/* The driver does not answer, or does not show the device any more. */
void clv_condition_miss(
	struct clv_agent *agent, struct clv_agent_device *device, enum clv_sign sign);

/* The driver shows the device: if it was missed, it is back, until a reading says
 * otherwise. */
void clv_condition_find(struct clv_agent *agent, struct clv_agent_device *device);

/* A lease does not give the device back, for so many seconds.  Said once a second for as
 * long as it is so, and then, of all devices, that all was said. */
void clv_condition_take_hang(struct clv_agent *agent, struct clv_agent_device *device,
	const char *lease, uint64_t seconds);
void clv_condition_end_hang(struct clv_agent *agent, struct clv_agent_device *device);

/* An admin has seen to it. */
void clv_condition_acknowledge(struct clv_agent *agent, struct clv_agent_device *device);

/* Of the device, or of what it is a part of. */
enum clv_health_state clv_condition_state(const struct clv_agent_device *device);
/* The first reason, "" if there is none. */
const char *clv_condition_reason(const struct clv_agent_device *device);

/* Adds to the JSON object of a device what is known of it. */
void clv_condition_render(const struct clv_agent_device *device, json_t *object);

/* Those of all devices, before the devices are freed. */
void clv_conditions_free(struct clv_agent *agent);
