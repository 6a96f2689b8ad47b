/* SPDX-License-Identifier: Apache-2.0 */
/* The health and the last reading of each device, with events for changes, and their
 * JSON. */
#include "agent/device/condition.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct clv_condition *get_or_create(struct clv_agent_device *device)
{
	if (!device->condition) {
		device->condition = calloc(1, sizeof(*device->condition));
		if (device->condition)
			clv_reading_begin(&device->condition->reading, device->info.uuid);
	}
	return device->condition;
}

static const struct clv_condition *condition_of(const struct clv_agent_device *device)
{
	return clv_devices_root((struct clv_agent_device *)device)->condition;
}

/* The newest reason among those of the worst state; "": there is none. */
static const char *worst_reason(const struct clv_health *health)
{
	const char *text = "";

	for (size_t i = 0; i < health->n_reasons; i++) {
		if (health->reasons[i].state == health->state)
			text = health->reasons[i].text;
	}
	return text;
}

static void report_change(struct clv_agent *agent, struct clv_agent_device *device,
	enum clv_health_state before)
{
	static const enum clv_event_type types[_CLV_HEALTH_STATE_MAX] = {
		[CLV_HEALTH_OK] = CLV_EVENT_DEVICE_RECOVERED,
		[CLV_HEALTH_DEGRADED] = CLV_EVENT_DEVICE_DEGRADED,
		[CLV_HEALTH_LOST] = CLV_EVENT_DEVICE_LOST,
	};
	struct clv_condition *condition = device->condition;
	enum clv_health_state now = condition->health.state;

	if (now != before)
		condition->since_real_ns = clv_clock_real_ns();
	clv_events_emit_for_device(agent, types[now], device->info.name, "%s",
		now == CLV_HEALTH_OK ? "the device is healthy again"
				     : worst_reason(&condition->health));
	/* Queued leases may have waited for the device. */
	if (now < before)
		clv_notify_admits(agent->notify, device);
}

static void report_program_errors(
	struct clv_agent *agent, const struct clv_agent_device *device)
{
	const struct clv_reading *reading = &device->condition->reading;

	for (size_t i = 0; i < reading->n_xids; i++) {
		const struct clv_xid *xid = clv_xid_find(reading->xids[i]);

		if (xid->effect == CLV_XID_OF_PROGRAM)
			clv_events_emit_for_device(agent, CLV_EVENT_DEVICE_ERROR,
				device->info.name, "Xid %u, %s: %s", reading->xids[i],
				xid->what, xid->help);
	}
}

void clv_condition_update(struct clv_agent *agent, struct clv_agent_device *device,
	struct clv_reading *reading)
{
	struct clv_condition *condition = get_or_create(device);
	enum clv_health_state before;

	if (!condition)
		return;
	before = condition->health.state;
	clv_reading_clear(&condition->reading);
	condition->reading = *reading;
	*reading = (struct clv_reading){0};
	condition->is_missing = false;
	if (clv_health_update(&condition->health, &condition->reading))
		report_change(agent, device, before);
	report_program_errors(agent, device);
}

void clv_condition_set_missing(
	struct clv_agent *agent, struct clv_agent_device *device, enum clv_sign sign)
{
	bool was_missing = device->condition && device->condition->is_missing;
	struct clv_reading reading;

	clv_reading_begin(&reading, device->info.uuid);
	/* The signs of the last reading still hold while the driver does not answer. */
	if (sign == CLV_SIGN_SILENT && device->condition)
		memcpy(reading.signs, device->condition->reading.signs,
			sizeof(reading.signs));
	reading.signs[sign] = 1;
	clv_condition_update(agent, device, &reading);
	if (device->condition)
		device->condition->is_missing = sign == CLV_SIGN_LOST || was_missing;
}

void clv_condition_set_found(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_reading reading;

	if (!device->condition || !device->condition->is_missing)
		return;
	clv_reading_begin(&reading, device->info.uuid);
	clv_condition_update(agent, device, &reading);
}

void clv_condition_set_hang(struct clv_agent *agent, struct clv_agent_device *device,
	bool is_hanging, uint64_t seconds)
{
	struct clv_condition *condition =
		is_hanging ? get_or_create(device) : device->condition;
	enum clv_health_state before = condition ? condition->health.state : 0;

	if (condition && clv_health_set_hang(&condition->health, is_hanging, seconds))
		report_change(agent, device, before);
}

void clv_condition_acknowledge(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_condition *condition = device->condition;
	enum clv_health_state before = condition ? condition->health.state : 0;

	if (condition && clv_health_acknowledge(&condition->health))
		report_change(agent, device, before);
}

enum clv_health_state clv_condition_state(const struct clv_agent_device *device)
{
	const struct clv_condition *condition = condition_of(device);

	return condition ? condition->health.state : CLV_HEALTH_OK;
}

const char *clv_condition_reason(const struct clv_agent_device *device)
{
	const struct clv_condition *condition = condition_of(device);

	return condition ? worst_reason(&condition->health) : "";
}

/* JSON. */

#define FIGURE(key, name)                               \
	{                                               \
		key, offsetof(struct clv_reading, name) \
	}

static const struct {
	const char *key;
	size_t offset; /* of a double */
} figures[] = {
	FIGURE("power_watts", power_watts),
	FIGURE("temperature_celsius", temperature_celsius),
	FIGURE("energy_joules", energy_joules),
	FIGURE("utilization", utilization),
	FIGURE("encoder_utilization", encoder),
	FIGURE("decoder_utilization", decoder),
};

static json_t *render_health(const struct clv_condition *condition)
{
	json_t *reasons = json_array();
	char since[32];

	for (size_t i = 0; condition && i < condition->health.n_reasons; i++)
		json_array_append_new(
			reasons, json_string(condition->health.reasons[i].text));
	clv_clock_format_rfc3339(condition ? condition->since_real_ns : 0, since);
	return json_pack("{s:s,s:o,s:o}", "state",
		clv_health_state_to_string(
			condition ? condition->health.state : CLV_HEALTH_OK),
		"reasons", reasons, "since",
		condition && condition->since_real_ns > 0 ? json_string(since)
							  : json_null());
}

void clv_condition_render(const struct clv_agent_device *device, json_t *object)
{
	const struct clv_condition *condition = condition_of(device);
	uint64_t used_bytes = CLV_READING_UNKNOWN;

	/* The driver reports these values of the whole device only. */
	if (condition && !device->parent)
		used_bytes = condition->reading.memory_used_bytes;
	json_object_set_new(object, "health", render_health(condition));
	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		double value = NAN;

		if (condition && !device->parent)
			value = *(const double *)((const char *)&condition->reading +
						  figures[i].offset);
		json_object_set_new(object, figures[i].key,
			isfinite(value) ? json_real(value) : json_null());
	}
	json_object_set_new(object, "driver_memory_used_bytes",
		used_bytes == CLV_READING_UNKNOWN ? json_null()
						  : json_integer((json_int_t)used_bytes));
}

void clv_conditions_free(struct clv_agent *agent)
{
	for (size_t i = 0; agent->devices && i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->condition)
			clv_reading_clear(&device->condition->reading);
		free(device->condition);
		device->condition = NULL;
	}
}
