/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/health.h"

#include <jansson.h>
#include <stdint.h>

struct clv_agent;
struct clv_agent_device;

/* The condition of a whole device: its last reading and its health, with events when the
 * health changes.  Loop thread only. */
struct clv_condition {
	struct clv_reading reading; /* the last one; empty if the device was missed */
	struct clv_health health;
	uint64_t since_real_ns; /* of the current health; 0: since the agent's start */
	bool is_missing; /* the driver did not show the device when last surveyed */
};

/* Takes over a reading of the device, with its processes; the caller's is empty
 * afterwards. */
void clv_condition_update(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_reading *reading);

/* Records that the driver does not answer (CLV_SIGN_SILENT) or no longer shows the device
 * (CLV_SIGN_LOST). */
void clv_condition_set_missing(
	struct clv_agent *agent, struct clv_agent_device *device, enum clv_sign sign);

/* The driver shows the device: it is not missing any more.  A device that its driver
 * lists, and whose readings say that it is lost, stays so. */
void clv_condition_set_found(struct clv_agent *agent, struct clv_agent_device *device);

/* Whether a lease has not given the whole device, or a part of it, back for
 * `seconds`. */
void clv_condition_set_hang(struct clv_agent *agent, struct clv_agent_device *device,
	bool is_hanging, uint64_t seconds);

/* Clears the reasons that stay until an admin acknowledges them. */
void clv_condition_acknowledge(struct clv_agent *agent, struct clv_agent_device *device);

/* The health of the device, or of the device that a partition is a part of. */
enum clv_health_state clv_condition_state(const struct clv_agent_device *device);
/* The newest of the worst reasons; "": there is none. */
const char *clv_condition_reason(const struct clv_agent_device *device);

/* Adds health and readings to the JSON object of a device. */
void clv_condition_render(const struct clv_agent_device *device, json_t *object);

/* Frees the conditions of all devices, before the devices are freed. */
void clv_conditions_free(struct clv_agent *agent);
