/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the limits of a pod's containers, init containers included. */
#include "bridge/extender/pod.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/kubernetes/config/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLI_PER_UNIT 10u /* a hundredth of a device */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Reads the limit: of an extended resource the request must equal it. */
static int read_amount(const json_t *container, const char *resource, uint64_t *ret,
	struct clv_error *err)
{
	const json_t *limits =
		json_object_get(json_object_get(container, "resources"), "limits");
	const json_t *value = json_object_get(limits, resource);
	const char *text = json_string_value(value);

	*ret = 0;
	if (!value || (json_is_integer(value) && json_integer_value(value) == 0))
		return 0;
	if (json_is_integer(value) && json_integer_value(value) > 0) {
		*ret = (uint64_t)json_integer_value(value);
		return 0;
	}
	if (text && clv_kube_parse_quantity(text, ret) == 0)
		return 0;
	return clv_error_set(err, -EINVAL,
		"container %.64s: %.64s must be a whole number",
		text_of(container, "name"), resource);
}

/* The unit of the resource of memory in MiB: NAME has the one of the settings, and
 * NAME-256mi and NAME-1gi have their own.  0: another resource. */
static uint32_t unit_of(const char *name, const struct clv_pod_resources *resources)
{
	size_t n = strlen(resources->memory);
	unsigned number = 0;
	char suffix[4] = "";

	if (strncmp(name, resources->memory, n) != 0)
		return 0;
	if (name[n] == '\0')
		return resources->memory_unit_mib;
	if (sscanf(name + n, "-%6u%3s", &number, suffix) != 2)
		return 0;
	return strcmp(suffix, "mi") == 0   ? number
	       : strcmp(suffix, "gi") == 0 ? number * 1024
					   : 0;
}

/* Sums up the resources of memory. */
static int read_memory(const json_t *container, const struct clv_pod_resources *resources,
	uint64_t *ret_mib, struct clv_error *err)
{
	json_t *limits =
		json_object_get(json_object_get(container, "resources"), "limits");
	const json_t *value;
	const char *name;

	*ret_mib = 0;
	json_object_foreach (limits, name, value) {
		uint32_t unit = unit_of(name, resources);
		uint64_t n = 0;
		int r = unit ? read_amount(container, name, &n, err) : 0;

		if (r < 0)
			return r;
		if (unit && n > (UINT32_MAX - *ret_mib) / unit)
			return clv_error_set(err, -EINVAL,
				"container %.64s asks for more memory than any device "
				"has",
				text_of(container, "name"));
		*ret_mib += n * unit;
	}
	return 0;
}

static int read_container(const json_t *container,
	const struct clv_pod_resources *resources, bool ends_first, struct clv_pod *pod,
	struct clv_error *err)
{
	uint64_t share, memory;
	int r = read_amount(container, resources->share, &share, err);

	if (r >= 0)
		r = read_memory(container, resources, &memory, err);
	if (r < 0 || (share == 0 && memory == 0))
		return r;
	if (share * MILLI_PER_UNIT > CLV_PLACE_WHOLE)
		return clv_error_set(err, -EINVAL,
			"container %.64s asks for %llu of %s: a device has 100, and a "
			"share is a part of one device",
			text_of(container, "name"), (unsigned long long)share,
			resources->share);
	if (pod->n_requests == CLV_POD_CONTAINERS_MAX)
		return clv_error_set(err, -EINVAL,
			"more than %d of its containers ask for devices",
			CLV_POD_CONTAINERS_MAX);
	pod->ends_first[pod->n_requests] = ends_first;
	pod->requests[pod->n_requests++] = (struct clv_place_request){
		.milli = (uint16_t)(share * MILLI_PER_UNIT),
		.device_mib = (uint32_t)memory,
		.n_devices = 1,
	};
	return 0;
}

static int read_containers(const json_t *spec, const char *key,
	const struct clv_pod_resources *resources, struct clv_pod *pod,
	struct clv_error *err)
{
	bool is_init = strcmp(key, "initContainers") == 0;
	const json_t *container;
	size_t i;
	int r = 0;

	json_array_foreach (json_object_get(spec, key), i, container) {
		const char *restarts = text_of(container, "restartPolicy");

		if (r >= 0)
			r = read_container(container, resources,
				is_init && strcmp(restarts, "Always") != 0, pod, err);
	}
	return r;
}

int clv_pod_read(const json_t *pod, const struct clv_pod_resources *resources,
	struct clv_pod *ret, struct clv_error *err)
{
	const json_t *metadata = json_object_get(pod, "metadata");
	const json_t *spec = json_object_get(pod, "spec");
	int r;

	*ret = (struct clv_pod){0};
	if (!json_is_object(metadata) || !json_is_object(spec))
		return clv_error_set(err, -EINVAL, "there is no pod in the request");
	snprintf(ret->name, sizeof(ret->name), "%s", text_of(metadata, "name"));
	snprintf(ret->namespace, sizeof(ret->namespace), "%s",
		text_of(metadata, "namespace"));
	snprintf(ret->uid, sizeof(ret->uid), "%s", text_of(metadata, "uid"));
	r = read_containers(spec, "initContainers", resources, ret, err);
	return r < 0 ? r : read_containers(spec, "containers", resources, ret, err);
}
