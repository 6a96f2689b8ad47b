/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and pods of Kubernetes.  A node's devices are a resource that counts them, or
 * cleave's hundredths; pods are counted as the scheduler does. */
#include "simulate/files/snapshot-internal.h"

#include "simulate/files/csv.h"

#include "base/cleanup.h"
#include "base/quantity.h"
#include "core/fleet/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 0x1p20

/* Resources that count whole devices. */
static const char *const whole[] = {"nvidia.com/gpu", "amd.com/gpu", "cleave.dev/gpu",
	"gpu.intel.com/i915", "gpu.intel.com/xe"};
/* Hundredths of a device. */
static const char *const share = "cleave.dev/gpu-share";
static const char *const products[] = {
	"cleave.dev/gpu.product", "nvidia.com/gpu.product", "amd.com/gpu.product-name"};
static const char *const memories[] = {"cleave.dev/gpu.memory", "nvidia.com/gpu.memory"};

enum resource { CPU, MEMORY, WHOLE, SHARE, _RESOURCES };

struct amounts {
	double of[_RESOURCES]; /* MEMORY in bytes */
};

/* A quantity, as "500m" and "32Gi"; 0 for what is none. */
static double quantity_of(const json_t *value)
{
	const char *text = json_string_value(value);
	double number = text ? 0 : json_number_value(value);

	if (text && clv_quantity_parse(text, &number) < 0)
		return 0;
	return number > 0 ? number : 0;
}

static struct amounts amounts_of(const json_t *resources)
{
	struct amounts amounts = {{
		[CPU] = quantity_of(json_object_get(resources, "cpu")),
		[MEMORY] = quantity_of(json_object_get(resources, "memory")),
		[SHARE] = quantity_of(json_object_get(resources, share)),
	}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(whole); i++)
		amounts.of[WHOLE] += quantity_of(json_object_get(resources, whole[i]));
	return amounts;
}

static void add(struct amounts *sum, struct amounts more)
{
	for (int i = 0; i < _RESOURCES; i++)
		sum->of[i] += more.of[i];
}

static const char *label_of(
	const json_t *labels, const char *const *names, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++) {
		const char *text = clv_snapshot_text(labels, names[i]);

		if (*text)
			return text;
	}
	return "";
}

static bool is_ready(const json_t *status)
{
	const json_t *condition;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, condition) {
		if (strcmp(clv_snapshot_text(condition, "type"), "Ready") == 0)
			return strcmp(clv_snapshot_text(condition, "status"), "True") ==
			       0;
	}
	return true;
}

static bool read_node(const json_t *item, struct clv_snapshot_node *ret)
{
	const json_t *metadata = json_object_get(item, "metadata");
	const json_t *labels = json_object_get(metadata, "labels");
	const json_t *status = json_object_get(item, "status");
	const json_t *spec = json_object_get(item, "spec");
	struct amounts has = amounts_of(json_object_get(status, "allocatable"));

	if (strcmp(clv_snapshot_text(item, "kind"), "Node") != 0 ||
		json_is_true(json_object_get(spec, "unschedulable")) || !is_ready(status))
		return false;
	*ret = (struct clv_snapshot_node){
		.name = clv_snapshot_text(metadata, "name"),
		.cpu_milli = clv_snapshot_count(has.of[CPU] * 1000),
		.memory_mib = clv_snapshot_count(has.of[MEMORY] / MIB),
		.n_devices = clv_snapshot_count(
			has.of[WHOLE] > 0 ? has.of[WHOLE] : has.of[SHARE] / 100),
		.device_mib = strtoul(
			label_of(labels, memories, CLV_ARRAY_SIZE(memories)), NULL, 10),
	};
	strncpy(ret->model, label_of(labels, products, CLV_ARRAY_SIZE(products)),
		sizeof(ret->model) - 1);
	return true;
}

static struct amounts of_container(const json_t *container)
{
	const json_t *resources = json_object_get(container, "resources");
	struct amounts wants = amounts_of(json_object_get(resources, "requests"));
	struct amounts most = amounts_of(json_object_get(resources, "limits"));

	/* A limit without a request is one; the API server fills it in. */
	for (int i = 0; i < _RESOURCES; i++) {
		if (wants.of[i] <= 0)
			wants.of[i] = most.of[i];
	}
	return wants;
}

/* The sum of the containers, or an initial container if that needs more beside the
 * sidecars before it. */
static struct amounts of_pod(const json_t *spec)
{
	struct amounts sum = {0}, beside = {0}, most = {0};
	const json_t *container;
	size_t i;

	json_array_foreach (json_object_get(spec, "containers"), i, container)
		add(&sum, of_container(container));
	json_array_foreach (json_object_get(spec, "initContainers"), i, container) {
		struct amounts wants = of_container(container);

		if (strcmp(clv_snapshot_text(container, "restartPolicy"), "Always") ==
			0) {
			add(&beside, wants);
			continue;
		}
		add(&wants, beside);
		for (int k = 0; k < _RESOURCES; k++)
			most.of[k] = wants.of[k] > most.of[k] ? wants.of[k] : most.of[k];
	}
	add(&sum, beside);
	for (int k = 0; k < _RESOURCES; k++)
		sum.of[k] = most.of[k] > sum.of[k] ? most.of[k] : sum.of[k];
	add(&sum, amounts_of(json_object_get(spec, "overhead")));
	return sum;
}

/* "2025-11-03T08:15:00Z" */
static uint64_t seconds_of(const char *text)
{
	char date[20] = "";
	uint64_t seconds;

	if (strlen(text) < 19)
		return 0;
	memcpy(date, text, 19);
	date[10] = ' ';
	return clv_csv_parse_date(date, &seconds) ? seconds : 0;
}

static bool read_load(const json_t *item, struct clv_snapshot_load *ret)
{
	const json_t *metadata = json_object_get(item, "metadata");
	const json_t *spec = json_object_get(item, "spec");
	const char *phase = clv_snapshot_text(json_object_get(item, "status"), "phase");
	struct amounts wants = of_pod(spec);
	const char *model;

	if (strcmp(clv_snapshot_text(item, "kind"), "Pod") != 0 ||
		strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
		return false;
	*ret = (struct clv_snapshot_load){
		.name = clv_snapshot_text(metadata, "name"),
		.node = clv_snapshot_text(spec, "nodeName"),
		.cpu_milli = clv_snapshot_count(wants.of[CPU] * 1000 + 0.5),
		.memory_mib = clv_snapshot_count((wants.of[MEMORY] + MIB - 1) / MIB),
		.n_devices = clv_snapshot_count(wants.of[WHOLE]),
		.milli = CLV_PLACE_WHOLE,
		.n_nodes = 1,
		.arrives_s = seconds_of(clv_snapshot_text(metadata, "creationTimestamp")),
	};
	if (ret->n_devices == 0 && wants.of[SHARE] > 100) {
		ret->n_devices = clv_snapshot_count(wants.of[SHARE] / 100);
	} else if (ret->n_devices == 0 && wants.of[SHARE] > 0) {
		ret->n_devices = 1;
		ret->milli = clv_snapshot_count(ceil(wants.of[SHARE] * 10));
	}
	ret->is_waiting = !ret->node[0];
	model = label_of(json_object_get(spec, "nodeSelector"), products,
		CLV_ARRAY_SIZE(products));
	strncpy(ret->model, model, sizeof(ret->model) - 1);
	return true;
}

static bool read_running(const json_t *item, struct clv_snapshot_load *ret)
{
	return read_load(item, ret) && !ret->is_waiting;
}

const struct clv_snapshot_format clv_snapshot_kubernetes = {
	.nodes = "items",
	.loads = "items",
	.running = "items",
	.read_node = read_node,
	.read_load = read_load,
	.read_running = read_running,
};
