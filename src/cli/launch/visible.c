/* SPDX-License-Identifier: Apache-2.0 */
/* Restricts a program to the devices of its lease, by its environment and affinity. */
#include "cli/launch/visible.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variable that names the visible devices to each vendor's runtime. */
static const struct {
	const char *vendor, *variable;
} variables[] = {
	{"nvidia", "CUDA_VISIBLE_DEVICES"},
	{"amd", "ROCR_VISIBLE_DEVICES"},
	{"intel", "ZE_AFFINITY_MASK"},
};

/* Pins PoCL's workers to one processor each (docs of pocl: POCL_AFFINITY).  Without that,
 * the scheduler often wakes two workers on one processor when a turn begins, and a kernel
 * takes twice as long.  Skipped if the program may use only some of the processors, which
 * PoCL would ignore; if the user sets the number of workers, since PoCL aborts when there
 * are more workers than processors; and if the user sets POCL_AFFINITY. */
static void pin_workers(void)
{
	cpu_set_t allowed;

	if (!getenv("POCL_MAX_PTHREAD_COUNT") &&
		sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
		CPU_COUNT(&allowed) == sysconf(_SC_NPROCESSORS_CONF))
		setenv("POCL_AFFINITY", "1", 0);
}

static int keep_to_cpus(const char *list, struct clv_error *err)
{
	char count[16];
	cpu_set_t cpus;

	if (clv_cpus_parse(list, &cpus) < 0 ||
		sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		return clv_error_errno(err, errno,
			"cannot keep the program to the processors %.60s", list);
	/* By default PoCL starts a worker for each processor of the machine. */
	snprintf(count, sizeof(count), "%d", CPU_COUNT(&cpus));
	setenv("POCL_MAX_PTHREAD_COUNT", count, 1);
	return 0;
}

static const char *variable_of(const json_t *device)
{
	const char *vendor = clv_json_text(device, "vendor");

	for (size_t i = 0; i < CLV_ARRAY_SIZE(variables); i++) {
		if (strcasecmp(vendor, variables[i].vendor) == 0)
			return variables[i].variable;
	}
	return NULL;
}

static int keep_to_devices(
	const json_t *devices, const char *variable, struct clv_error *err)
{
	_cleanup_free_ char *list = NULL;
	size_t size = 0, i;
	const json_t *device;
	FILE *out = open_memstream(&list, &size);

	if (!out)
		return clv_error_errno(err, ENOMEM, "cannot start the program");
	json_array_foreach (devices, i, device)
		fprintf(out, "%s%s", i > 0 ? "," : "", clv_json_text(device, "visible"));
	/* By the second variable the gate recognizes a first one that the program has
	 * set. */
	if (fclose(out) != 0 || setenv(variable, list, 1) < 0 ||
		setenv("CLEAVE_VISIBLE", list, 1) < 0)
		return clv_error_errno(err, ENOMEM, "cannot start the program");
	return 0;
}

int clv_visible_set(const json_t *devices, struct clv_error *err)
{
	const json_t *first = json_array_get(devices, 0);
	const json_t *partition = json_object_get(first, "partition");
	const char *variable;

	if (strcmp(clv_json_text(partition, "scheme"), "cores") == 0)
		return keep_to_cpus(clv_json_text(partition, "address"), err);
	/* On a device that only OpenCL shows, the gate restricts the program. */
	if (strcmp(clv_json_text(first, "backend"), "opencl") == 0) {
		pin_workers();
		return 0;
	}
	variable = variable_of(first);
	if (variable && strcmp(variable, "ZE_AFFINITY_MASK") == 0)
		setenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1", 1);
	return variable ? keep_to_devices(devices, variable, err) : 0;
}

/* Only if the agent names the units, as it does for AMD GPUs. */
int clv_visible_limit(const json_t *sm, struct clv_error *err)
{
	const json_t *first = json_object_get(sm, "first");
	json_int_t begin = json_integer_value(first);
	json_int_t n = json_integer_value(json_object_get(sm, "count"));
	char text[80];

	if (!json_is_integer(first) || n <= 0)
		return 0;
	snprintf(text, sizeof(text), "0:%lld-%lld", (long long)begin,
		(long long)(begin + n - 1));
	if (setenv("HSA_CU_MASK", text, 1) < 0)
		return clv_error_errno(err, ENOMEM, "cannot set HSA_CU_MASK");
	return 0;
}
