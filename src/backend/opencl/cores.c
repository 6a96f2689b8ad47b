/* SPDX-License-Identifier: Apache-2.0 */
/* Divides CPU devices into sets of processors.  The sets are only stored (sets.c); the
 * affinity of threads is set when a lease uses a partition. */
#include "backend/opencl/cores.h"

#include "backend/opencl/library.h"
#include "backend/opencl/sets.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The processors to divide are those in this process's affinity mask. */
static int fill_cores(struct clv_cores_state *ret, cpu_set_t *all)
{
	size_t n = 0;

	if (sched_getaffinity(0, sizeof(*all), all) < 0)
		return -errno;
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		uint16_t *id = CPU_ISSET(i, all) ? CLV_APPEND(ret->ids, n) : NULL;

		if (CPU_ISSET(i, all) && !id)
			return -ENOMEM;
		if (id)
			*id = (uint16_t)i;
	}
	ret->is_capable = n > 1;
	ret->total = (uint32_t)n;
	return 0;
}

static int add_set(struct clv_node_device *device, const struct clv_core_set *set)
{
	struct clv_partition *partition = clv_node_add_partition(device);
	uint32_t n = (uint32_t)CPU_COUNT(&set->cpus);

	if (!partition)
		return -ENOMEM;
	snprintf(partition->profile, sizeof(partition->profile), "cores:%u", n);
	clv_cpus_format(&set->cpus, partition->address, sizeof(partition->address));
	partition->start = clv_cpus_first(&set->cpus);
	partition->size = n;
	partition->compute_units = n;
	partition->memory_bytes = device->info.memory_bytes / device->cores.total * n;
	return 0;
}

/* A set with a processor that is no longer available is ignored. */
static int fill_sets(
	struct clv_node_device *device, const cpu_set_t *all, struct clv_error *err)
{
	struct clv_core_sets sets;
	cpu_set_t common;
	int r = clv_core_sets_load(&sets, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sets.n && r >= 0; i++) {
		CPU_AND(&common, all, &sets.items[i].cpus);
		if (strcmp(sets.items[i].device, device->info.uuid) == 0 &&
			CPU_EQUAL(&common, &sets.items[i].cpus))
			r = add_set(device, &sets.items[i]);
	}
	clv_core_sets_clear(&sets);
	device->scheme = device->n_partitions ? CLV_SCHEME_CORES : CLV_SCHEME_NONE;
	return r < 0 ? clv_error_errno(err, -r, "cannot list sets of processors") : 0;
}

static int fill(struct clv_node_device *device, struct clv_error *err)
{
	cpu_set_t all;
	int r = fill_cores(&device->cores, &all);

	if (r < 0)
		return clv_error_errno(err, -r, "cannot list the processors");
	if (!device->cores.is_capable)
		snprintf(device->cannot_divide, sizeof(device->cannot_divide),
			"it has only one processor");
	return fill_sets(device, &all, err);
}

int clv_opencl_survey(
	struct clv_backend *backend, struct clv_node *node, struct clv_error *err)
{
	struct clv_device_list list = {0};
	int r = clv_opencl_enumerate(backend, &list, err);

	/* Without OpenCL there is no CPU device to divide, which is not an error. */
	if (r == -ENODEV)
		return 0;
	for (size_t i = 0; i < list.n_items && r >= 0; i++) {
		struct clv_node_device *device;

		if (strcmp(list.items[i].type, "cpu") != 0)
			continue;
		device = clv_node_add(node);
		if (!device) {
			r = clv_error_errno(err, ENOMEM, "cannot list the devices");
			break;
		}
		device->info = list.items[i];
		device->index = (uint32_t)i;
		r = fill(device, err);
	}
	free(list.items);
	return r;
}

/* Reads only the sets again; the values of the driver do not change. */
int clv_opencl_read(struct clv_backend *backend, struct clv_node_device *device,
	struct clv_error *err)
{
	struct clv_node_device again = {
		.info = device->info, .index = device->index, .numa_node = -1};
	int r = fill(&again, err);

	clv_node_device_clear(r < 0 ? &again : device);
	if (r >= 0)
		*device = again;
	return r;
}

int clv_opencl_create(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_step *step, struct clv_error *err)
{
	cpu_set_t cpus;

	if (clv_cpus_parse(step->cpus, &cpus) < 0 ||
		(uint32_t)CPU_COUNT(&cpus) != step->size)
		return clv_error_set(err, -EINVAL, "'%s' is not a list of %u processors",
			step->cpus, step->size);
	return clv_core_sets_add(device->info.uuid, &cpus, err);
}

int clv_opencl_destroy(struct clv_backend *backend, const struct clv_node_device *device,
	const struct clv_partition *partition, const struct clv_partition *inside,
	struct clv_error *err)
{
	cpu_set_t cpus;

	if (clv_cpus_parse(partition->address, &cpus) < 0)
		return clv_error_set(err, -EINVAL, "'%s' is not a list of processors",
			partition->address);
	return clv_core_sets_remove(device->info.uuid, &cpus, err);
}
