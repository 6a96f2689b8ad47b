/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of devices as JSON, between the worker and the agent. */
#include "agent/driver/reading-json.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define FIGURE(name)                                      \
	{                                                 \
#name, offsetof(struct clv_reading, name) \
	}

static const struct {
	const char *key;
	size_t offset; /* of a double */
} figures[] = {
	FIGURE(power_watts),
	FIGURE(temperature_celsius),
	FIGURE(energy_joules),
	FIGURE(utilization),
	FIGURE(encoder),
	FIGURE(decoder),
};

static json_t *processes_to_json(const struct clv_reading *reading)
{
	json_t *array = json_array();

	for (size_t i = 0; i < reading->n_processes; i++) {
		const struct clv_reading_process *process = &reading->processes[i];
		json_t *object = json_pack("{s:I,s:s}", "pid", (json_int_t)process->pid,
			"partition", process->partition);

		if (process->memory_bytes != CLV_READING_UNKNOWN)
			json_object_set_new(object, "memory_bytes",
				json_integer((json_int_t)process->memory_bytes));
		if (isfinite(process->utilization))
			json_object_set_new(
				object, "utilization", json_real(process->utilization));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *reading_to_json(const struct clv_reading *reading)
{
	json_t *object = json_pack("{s:s}", "uuid", reading->uuid);
	json_t *signs = json_array(), *xids = json_array();

	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		double value =
			*(const double *)((const char *)reading + figures[i].offset);

		if (isfinite(value))
			json_object_set_new(object, figures[i].key, json_real(value));
	}
	if (reading->memory_used_bytes != CLV_READING_UNKNOWN)
		json_object_set_new(object, "memory_used_bytes",
			json_integer((json_int_t)reading->memory_used_bytes));
	for (int i = 0; i < _CLV_SIGN_MAX; i++)
		json_array_append_new(signs, json_integer((json_int_t)reading->signs[i]));
	for (size_t i = 0; i < reading->n_xids; i++)
		json_array_append_new(xids, json_integer(reading->xids[i]));
	json_object_set_new(object, "signs", signs);
	json_object_set_new(object, "xids", xids);
	if (reading->has_processes)
		json_object_set_new(object, "processes", processes_to_json(reading));
	json_object_set_new(object, "has_mean_utilization",
		json_boolean(reading->has_mean_utilization));
	return object;
}

json_t *clv_readings_to_json(const struct clv_readings *readings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < readings->n; i++)
		json_array_append_new(array, reading_to_json(&readings->items[i]));
	return array;
}

static uint64_t get_bytes(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t bytes = json_integer_value(value);

	return json_is_integer(value) && bytes >= 0 ? (uint64_t)bytes
						    : CLV_READING_UNKNOWN;
}

static int read_processes(
	const json_t *json, struct clv_reading *ret, struct clv_error *err)
{
	const json_t *object;
	size_t i;

	ret->has_processes = json_is_array(json);
	json_array_foreach (json, i, object) {
		json_int_t pid = json_integer_value(json_object_get(object, "pid"));
		const json_t *utilization = json_object_get(object, "utilization");
		const char *partition =
			json_string_value(json_object_get(object, "partition"));

		if (!partition)
			partition = "";
		if (pid <= 0 || pid > INT32_MAX)
			return clv_error_set(err, -EINVAL, "a process has no valid pid");
		if (clv_reading_add_process(ret, (uint32_t)pid,
			    get_bytes(object, "memory_bytes"), partition) < 0)
			return clv_error_errno(err, ENOMEM, "cannot read processes");
		if (json_is_number(utilization))
			clv_reading_set_utilization(ret, (uint32_t)pid, partition,
				json_number_value(utilization));
	}
	return 0;
}

static void read_figures(const json_t *json, struct clv_reading *ret)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(figures); i++) {
		const json_t *value = json_object_get(json, figures[i].key);

		if (json_is_number(value))
			*(double *)((char *)ret + figures[i].offset) =
				json_number_value(value);
	}
	ret->memory_used_bytes = get_bytes(json, "memory_used_bytes");
}

static void read_signs(const json_t *json, struct clv_reading *ret)
{
	const json_t *xids = json_object_get(json, "xids"), *xid;
	size_t i;

	for (i = 0; i < _CLV_SIGN_MAX; i++)
		ret->signs[i] = (uint64_t)json_integer_value(
			json_array_get(json_object_get(json, "signs"), i));
	json_array_foreach (xids, i, xid) {
		if (ret->n_xids < CLV_READING_XIDS)
			ret->xids[ret->n_xids++] = (uint32_t)json_integer_value(xid);
	}
}

static int reading_from_json(
	const json_t *json, struct clv_reading *ret, struct clv_error *err)
{
	const char *uuid = json_string_value(json_object_get(json, "uuid"));

	clv_reading_begin(ret, uuid ? uuid : "");
	if (!uuid)
		return clv_error_set(err, -EINVAL, "a reading has no device");
	read_figures(json, ret);
	read_signs(json, ret);
	ret->has_mean_utilization =
		json_is_true(json_object_get(json, "has_mean_utilization"));
	return read_processes(json_object_get(json, "processes"), ret, err);
}

int clv_readings_from_json(
	const json_t *json, struct clv_readings *ret, struct clv_error *err)
{
	const json_t *object;
	size_t i;
	int r = json_is_array(json)
			? 0
			: clv_error_set(err, -EINVAL, "the readings are not an array");

	json_array_foreach (json, i, object) {
		struct clv_reading *reading =
			r < 0 ? NULL : CLV_APPEND(ret->items, ret->n);

		if (r >= 0 && !reading)
			r = clv_error_errno(err, ENOMEM, "cannot take readings");
		if (reading)
			r = reading_from_json(object, reading, err);
	}
	return r;
}
