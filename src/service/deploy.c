/* SPDX-License-Identifier: Apache-2.0 */
/* `deploy` of a service: replicas, resources, updates. */
#include "service/internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Resources --- */

/* "0.5", "2": thousandths of a processor. */
static int read_cpus(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	char *end;
	double n = strtod(text, &end);

	if (!isdigit((unsigned char)text[0]) || *end || n < .001 || n > 4096)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no number of processors, such as 0.5", text);
	((struct clv_service_limits *)into)->cpu_millis = (uint32_t)(n * 1000 + .5);
	return 0;
}

/* Compose's units are binary, whatever their form: "512m", "2gb", "1G", "128". */
static int read_bytes(
	struct clv_yaml_value value, uint64_t *ret_bytes, struct clv_error *err)
{
	static const char units[] = "bkmgt";
	const char *text = clv_yaml_text(value), *unit;
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	unsigned shift = 0;

	if (isdigit((unsigned char)text[0]) && *end) {
		unit = strchr(units, tolower((unsigned char)*end));
		if (!unit ||
			(end[1] && strcmp(end + 1, "b") != 0 &&
				strcmp(end + 1, "B") != 0 && strcmp(end + 1, "i") != 0 &&
				strcmp(end + 1, "iB") != 0))
			n = 0;
		else
			shift = (unsigned)(unit - units) * 10;
	}
	if (!isdigit((unsigned char)text[0]) || n == 0 || n > UINT64_MAX >> 1 >> shift)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no amount of memory, such as 512M or 2G", text);
	*ret_bytes = (uint64_t)n << shift;
	return 0;
}

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_bytes(value, &((struct clv_service_limits *)into)->memory_bytes, err);
}

static int read_pids(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, 1, 1u << 22, &n, err);

	if (r >= 0)
		((struct clv_service_limits *)into)->n_pids = (uint32_t)n;
	return r;
}

static const struct clv_yaml_field amount_fields[] = {
	{"cpus", read_cpus},
	{"memory", read_memory},
	{"pids", read_pids},
	{"devices", clv_service_skip}, /* read by the caller */
	{"x-*", clv_service_skip},
};

static int read_amounts(struct clv_service *service, struct clv_yaml_value value,
	struct clv_service_limits *limits, struct clv_error *err)
{
	struct clv_yaml_value devices;
	int r = clv_yaml_read_map(
		value, amount_fields, CLV_ARRAY_SIZE(amount_fields), limits, err);

	if (r < 0 || !clv_yaml_find(value, "devices", &devices))
		return r;
	if (limits == &service->limits)
		return clv_yaml_fail(devices, err, -EINVAL,
			"devices are reserved: move this to `reservations`");
	return clv_service_read_devices(devices, service, err);
}

static int read_limits(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	return read_amounts(service, value, &service->limits, err);
}

static int read_reservations(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	return read_amounts(service, value, &service->reservations, err);
}

static int read_resources(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"limits", read_limits},
		{"reservations", read_reservations},
		{"x-*", clv_service_skip},
	};

	return clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err);
}

/* --- The rest of it --- */

static int read_replicas(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, 0, CLV_SERVICE_REPLICAS_MAX, &n, err);

	if (r >= 0)
		((struct clv_service *)into)->n_replicas = (uint32_t)n;
	return r;
}

static int read_mode(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (strcmp(clv_yaml_text(value), "replicated") == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"the mode '%.40s' is not supported: take replicated, with replicas",
		clv_yaml_text(value));
}

static int read_order(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"start-first", "stop-first"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct clv_service *)into)->stops_first = r == 1;
	return r < 0 ? r : 0;
}

static int read_updates(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	/* One replica at a time, and undone when it fails, whatever these say. */
	static const struct clv_yaml_field fields[] = {
		{"order", read_order},
		{"parallelism", clv_service_skip},
		{"delay", clv_service_skip},
		{"failure_action", clv_service_skip},
		{"monitor", clv_service_skip},
		{"max_failure_ratio", clv_service_skip},
	};

	return clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err);
}

static int read_attempts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, 0, 1000, &n, err);

	if (r >= 0)
		((struct clv_service *)into)->n_restarts = (uint32_t)n;
	return r;
}

static int read_policy(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"condition", clv_service_read_restart},
		{"max_attempts", read_attempts},
		{"delay", clv_service_skip},
		{"window", clv_service_skip},
	};

	return clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err);
}

int clv_service_read_deploy(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"mode", read_mode},
		{"replicas", read_replicas},
		{"resources", read_resources},
		{"update_config", read_updates},
		{"rollback_config", clv_service_skip},
		{"restart_policy", read_policy},
		{"labels", clv_service_skip},
		{"endpoint_mode", clv_service_skip},
		{"x-*", clv_service_skip},
	};
	static const struct clv_service_refusal refusals[] = {
		{"placement", "the node's agent places replicas on its devices"},
	};
	int r = clv_service_refuse(value, refusals, CLV_ARRAY_SIZE(refusals), err);

	return r < 0 ? r
		     : clv_yaml_read_map(
			       value, fields, CLV_ARRAY_SIZE(fields), into, err);
}
