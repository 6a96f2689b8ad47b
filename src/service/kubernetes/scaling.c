/* SPDX-License-Identifier: Apache-2.0 */
/* What scales services in Kubernetes: a HorizontalPodAutoscaler, or, for those that stop
 * when they are idle, KEDA with its HTTP add-on, whose interceptor keeps a request until
 * a pod is ready. */
#include "service/kubernetes/internal.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "service/internal.h"

#include <stdio.h>

#define METRIC "cleave_share_use_ratio"
/* The part of the promised compute that is in use, over all agents that Prometheus reads.
 */
#define QUERY                                                       \
	"sum(avg_over_time(cleave_device_share_used_ratio[2m])) / " \
	"sum(cleave_device_share_promised_ratio)"
#define PROMETHEUS "http://prometheus.monitoring.svc:9090"
#define SCALER "keda-add-ons-http-external-scaler.keda:9090"

static int seconds(uint64_t ns)
{
	return (int)(ns / CLV_NS_PER_S);
}

/* One pod in each period, after the whole of it. */
static json_t *rule(uint64_t ns)
{
	/* Kubernetes' bounds: a window of an hour, a period of half an hour. */
	int window = seconds(ns) < 3600 ? seconds(ns) : 3600;

	return json_pack("{s:i, s:[{s:s, s:i, s:i}]}", "stabilizationWindowSeconds",
		window, "policies", "type", "Pods", "value", 1, "periodSeconds",
		window < 1800 ? window : 1800);
}

static json_t *behavior(const struct clv_service_scaling *scaling)
{
	return json_pack("{s:o, s:o}", "scaleUp", rule(scaling->over_ns), "scaleDown",
		rule(scaling->idle_ns));
}

static uint32_t floor_of(const struct clv_service_scaling *scaling)
{
	return scaling->min_replicas > 0 ? scaling->min_replicas : 1;
}

static json_t *target(const char *name)
{
	return json_pack("{s:s, s:s, s:s}", "apiVersion", "apps/v1", "kind", "Deployment",
		"name", name);
}

static json_t *make_autoscaler(const struct clv_service *service, const char *name)
{
	const struct clv_service_scaling *scaling = &service->scaling;
	json_t *made = clv_kube_object(
		"autoscaling/v2", "HorizontalPodAutoscaler", name, service);
	char value[16];

	snprintf(value, sizeof(value), "%um", scaling->over_ppm / 1000);
	json_object_set_new(made, "spec",
		json_pack("{s:o, s:i, s:i, s:[{s:s, s:{s:{s:s}, s:{s:s, s:s}}}], s:o}",
			"scaleTargetRef", target(name), "minReplicas",
			(int)floor_of(scaling), "maxReplicas", (int)scaling->max_replicas,
			"metrics", "type", "External", "external", "metric", "name",
			METRIC, "target", "type", "Value", "value", value, "behavior",
			behavior(scaling)));
	return made;
}

/* The route of the add-on's interceptor; the ScaledObject beside it scales. */
static json_t *make_route(const struct clv_service *service, const char *name)
{
	const struct clv_service_port *port = &service->ports[0];
	json_t *made = clv_kube_object(
		"http.keda.sh/v1alpha1", "HTTPScaledObject", name, service);

	for (size_t i = 0; i < service->n_ports; i++) {
		if (service->ports[i].target == service->scaling.target_port)
			port = &service->ports[i];
	}
	json_object_set_new(json_object_get(made, "metadata"), "annotations",
		json_pack("{s:s}", "httpscaledobject.keda.sh/skip-scaledobject-creation",
			"true"));
	json_object_set_new(made, "spec",
		json_pack("{s:[s], s:{s:s, s:s, s:s, s:s, s:i}, s:{s:i, s:i}, s:i}",
			"hosts", name, "scaleTargetRef", "name", name, "kind",
			"Deployment", "apiVersion", "apps/v1", "service", name, "port",
			(int)port->published, "replicas", "min",
			(int)service->scaling.n_kept, "max",
			(int)service->scaling.max_replicas, "scaledownPeriod",
			seconds(service->scaling.idle_ns)));
	return made;
}

static json_t *triggers(const struct clv_service *service, const char *name)
{
	json_t *made = json_pack("[{s:s, s:{s:s, s:s}}]", "type", "external-push",
		"metadata", "httpScaledObject", name, "scalerAddress", SCALER);
	char threshold[16];

	if (!service->device.is_given)
		return made;
	snprintf(threshold, sizeof(threshold), "%u.%02u",
		service->scaling.over_ppm / 1000000,
		service->scaling.over_ppm / 10000 % 100);
	json_array_append_new(
		made, json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "type", "prometheus",
			      "metricType", "Value", "metadata", "serverAddress",
			      PROMETHEUS, "query", QUERY, "threshold", threshold));
	return made;
}

static json_t *make_scaled(const struct clv_service *service, const char *name)
{
	const struct clv_service_scaling *scaling = &service->scaling;
	char own[CLV_KUBE_NAME_MAX + 8];
	json_t *made, *spec;

	/* The add-on removes one of the route's own name. */
	snprintf(own, sizeof(own), "%s-use", name);
	made = clv_kube_object("keda.sh/v1alpha1", "ScaledObject", own, service);
	spec = json_pack("{s:o, s:i, s:i, s:i, s:{s:{s:o}}, s:o}", "scaleTargetRef",
		target(name), "minReplicaCount",
		(int)(scaling->n_kept ? scaling->n_kept : floor_of(scaling)),
		"maxReplicaCount", (int)scaling->max_replicas, "cooldownPeriod",
		seconds(scaling->idle_ns), "advanced", "horizontalPodAutoscalerConfig",
		"behavior", behavior(scaling), "triggers", triggers(service, name));
	/* While no trigger is active; KEDA has no other number than 0 for this. */
	if (scaling->n_kept == 0)
		json_object_set_new(spec, "idleReplicaCount", json_integer(0));
	json_object_set_new(made, "spec", spec);
	return made;
}

static int add_stopping(json_t *to, const struct clv_service *service, const char *name,
	struct clv_error *err)
{
	int r = 0;

	json_array_append_new(to, make_route(service, name));
	json_array_append_new(to, make_scaled(service, name));
	if (service->scaling.sleep == CLV_SERVICE_SLEEP_FROZEN)
		r = clv_service_remark(service->file, service->place, err,
			"x-cleave-sleep has no effect in Kubernetes, which deletes the "
			"pods of %s",
			service->name);
	if (r < 0)
		return r;
	return clv_service_remark(service->file, service->place, err,
		"requests start %s only through the interceptor of KEDA's HTTP add-on: "
		"send "
		"them there, with the host '%s'",
		service->name, name);
}

int clv_kube_add_scaling(
	json_t *to, const struct clv_service *service, struct clv_error *err)
{
	const struct clv_service_scaling *scaling = &service->scaling;
	char name[CLV_KUBE_NAME_MAX];
	int r;

	clv_kube_name(service->name, name);
	if (scaling->stops)
		return add_stopping(to, service, name, err);
	if (!service->autoscaling.yaml)
		return 0;
	json_array_append_new(to, make_autoscaler(service, name));
	r = clv_service_remark(service->file, service->autoscaling, err,
		"the autoscaler reads the external metric " METRIC
		", which docs/services.md defines for Prometheus");
	if (r < 0)
		return r;
	return clv_service_remark(service->file, service->autoscaling, err,
		"idleThreshold has no effect in Kubernetes: the autoscaler removes a pod "
		"where the rest stays below overUtilizedThreshold");
}
