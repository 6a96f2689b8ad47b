/* SPDX-License-Identifier: Apache-2.0 */
/* When a service gets replicas, gives them back, stops and starts: Omnistrate's
 * capabilities. */
#include "service/internal.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

#define MINUTE_NS (60 * CLV_NS_PER_S)
#define MINUTES_MAX (31u * 24 * 60)

static int read_amount(struct clv_yaml_value value, uint64_t least, uint64_t most,
	uint32_t *ret, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, least, most, &n, err);

	if (r >= 0)
		*ret = (uint32_t)n;
	return r;
}

static int read_min(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_scaling *scaling = into;

	return read_amount(
		value, 0, CLV_SERVICE_REPLICAS_MAX, &scaling->min_replicas, err);
}

static int read_max(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_scaling *scaling = into;

	return read_amount(
		value, 1, CLV_SERVICE_REPLICAS_MAX, &scaling->max_replicas, err);
}

static int read_percent(
	struct clv_yaml_value value, uint32_t *ret_ppm, struct clv_error *err)
{
	uint32_t n = 0;
	int r = read_amount(value, 1, 100, &n, err);

	if (r >= 0)
		*ret_ppm = n * 10000;
	return r;
}

static int read_idle(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_percent(value, &((struct clv_service_scaling *)into)->idle_ppm, err);
}

static int read_over(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_percent(value, &((struct clv_service_scaling *)into)->over_ppm, err);
}

static int read_minutes(
	struct clv_yaml_value value, uint64_t *ret_ns, struct clv_error *err)
{
	uint32_t n = 0;
	int r = read_amount(value, 1, MINUTES_MAX, &n, err);

	if (r >= 0)
		*ret_ns = n * MINUTE_NS;
	return r;
}

static int read_idle_time(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_minutes(value, &((struct clv_service_scaling *)into)->idle_ns, err);
}

static int read_over_time(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_minutes(value, &((struct clv_service_scaling *)into)->over_ns, err);
}

static int read_autoscaling(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"minReplicas", read_min},
		{"maxReplicas", read_max, true},
		{"idleThreshold", read_idle},
		{"idleMinutesBeforeScalingDown", read_idle_time},
		{"overUtilizedThreshold", read_over},
		{"overUtilizedMinutesBeforeScalingUp", read_over_time},
	};
	struct clv_service *service = into;

	service->autoscaling = value;
	return clv_yaml_read_map(
		value, fields, CLV_ARRAY_SIZE(fields), &service->scaling, err);
}

static int read_stops(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(
		value, &((struct clv_service_scaling *)into)->stops, err);
}

static int read_target(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t port = 0;
	int r = read_amount(value, 1, UINT16_MAX, &port, err);

	if (r >= 0)
		((struct clv_service_scaling *)into)->target_port = (uint16_t)port;
	return r;
}

static int read_kept(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_scaling *scaling = into;

	return read_amount(value, 0, CLV_SERVICE_REPLICAS_MAX, &scaling->n_kept, err);
}

static int read_wake(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_duration(
		value, &((struct clv_service_scaling *)into)->wake_timeout_ns, err);
}

static int read_sleep(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_SERVICE_SLEEP_MAX] = {
		[CLV_SERVICE_SLEEP_STOPPED] = "stopped",
		[CLV_SERVICE_SLEEP_FROZEN] = "frozen",
	};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct clv_service_scaling *)into)->sleep = (enum clv_service_sleep)r;
	return r < 0 ? r : 0;
}

static int read_sleep_memory(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"keep", "shrink"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct clv_service_scaling *)into)->shrinks = r == 1;
	return r < 0 ? r : 0;
}

static int read_serverless(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"enableAutoStop", read_stops},
		{"targetPort", read_target},
		{"minimumNodesInPool", read_kept},
		/* cleave's own */
		{"x-cleave-wake-timeout", read_wake},
		{"x-cleave-sleep", read_sleep},
		{"x-cleave-sleep-memory", read_sleep_memory},
	};
	struct clv_service *service = into;

	return clv_yaml_read_map(
		value, fields, CLV_ARRAY_SIZE(fields), &service->scaling, err);
}

int clv_service_read_capabilities(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	/* Others are of Omnistrate's own service: backups, logs, networks. */
	static const struct clv_yaml_field fields[] = {
		{"autoscaling", read_autoscaling},
		{"serverlessConfiguration", read_serverless},
		{"*", clv_service_skip},
	};

	return clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), into, err);
}

/* --- What the keys say together --- */

static bool has_target(const struct clv_service *service)
{
	if (!service->scaling.target_port)
		return service->n_ports > 0;
	for (size_t i = 0; i < service->n_ports; i++) {
		if (service->ports[i].target == service->scaling.target_port)
			return true;
	}
	return false;
}

static int check_stops(const struct clv_service *service, struct clv_error *err)
{
	const struct clv_service_scaling *scaling = &service->scaling;

	if (scaling->sleep != CLV_SERVICE_SLEEP_STOPPED && !scaling->stops)
		return clv_yaml_fail(service->place, err, -EINVAL,
			"x-cleave-sleep is about services that sleep: add "
			"enableAutoStop, or leave it out");
	if (scaling->shrinks && scaling->sleep == CLV_SERVICE_SLEEP_STOPPED)
		return clv_yaml_fail(service->place, err, -EINVAL,
			"a service that is stopped keeps no memory: add x-cleave-sleep: "
			"frozen, or leave x-cleave-sleep-memory out");
	if (!scaling->stops || has_target(service))
		return 0;
	if (scaling->target_port)
		return clv_yaml_fail(service->place, err, -EINVAL,
			"targetPort %u is not in `ports`: requests for it cannot start "
			"the "
			"service",
			scaling->target_port);
	return clv_yaml_fail(service->place, err, -EINVAL,
		"enableAutoStop needs a port whose requests start the service: add "
		"`ports`");
}

int clv_service_check_scaling(struct clv_service *service, struct clv_error *err)
{
	struct clv_service_scaling *scaling = &service->scaling;

	if (!service->autoscaling.yaml) {
		scaling->max_replicas = service->n_replicas > 1 ? service->n_replicas : 1;
		scaling->min_replicas = service->n_replicas;
	} else if (scaling->min_replicas > scaling->max_replicas) {
		return clv_yaml_fail(service->autoscaling, err, -EINVAL,
			"minReplicas is %u, above maxReplicas, which is %u",
			scaling->min_replicas, scaling->max_replicas);
	}
	if (scaling->idle_ppm >= scaling->over_ppm)
		return clv_yaml_fail(service->autoscaling, err, -EINVAL,
			"idleThreshold is %u, and has to be below overUtilizedThreshold, "
			"which is %u",
			scaling->idle_ppm / 10000, scaling->over_ppm / 10000);
	if (scaling->n_kept > scaling->max_replicas)
		scaling->n_kept = scaling->max_replicas;
	if (service->n_replicas > scaling->max_replicas)
		service->n_replicas = scaling->max_replicas;
	if (service->n_replicas < scaling->min_replicas)
		service->n_replicas = scaling->min_replicas;
	return check_stops(service, err);
}
