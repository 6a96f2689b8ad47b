/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"
#include "answer.h"
#include "call.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

struct process {
	struct dnv_process info;
	uint32_t gpu;
	char kind;
};

struct processes {
	struct process items[DNV_PROCESSES_MAX];
	uint32_t n;
};

static bool read_process(const struct dnv_line *line, struct process *ret)
{
	uint64_t pid, gpu, gi, ci, bytes;

	if (line->n_words < 5 || line->n_words > 6 ||
		!dnv_text_number(line->words[0], 0, UINT32_MAX, &pid) ||
		!dnv_text_number(line->words[1], 0, DNV_GPUS_MAX - 1, &gpu) ||
		!dnv_text_number(line->words[2], DNV_NONE_U32, UINT32_MAX, &gi) ||
		!dnv_text_number(line->words[3], DNV_NONE_U32, UINT32_MAX, &ci) ||
		!dnv_text_number(line->words[4], DNV_NOT_AVAILABLE, UINT64_MAX, &bytes))
		return false;
	*ret = (struct process){
		.info = {(uint32_t)pid, bytes, (uint32_t)gi, (uint32_t)ci},
		.gpu = (uint32_t)gpu,
		.kind = line->words[5] ? line->words[5][0] : 'C',
	};
	return strchr("CGMX", ret->kind);
}

static void read_processes(struct processes *ret)
{
	char *text = dnv_text_read(dnv_dirfd(), "processes"), *rest = text;
	struct dnv_line line = {0};

	ret->n = 0;
	while (dnv_text_next(&rest, &line)) {
		if (ret->n == DNV_PROCESSES_MAX ||
			!read_process(&line, &ret->items[ret->n]))
			dnv_text_die("processes", &line);
		ret->n++;
	}
	free(text);
}

static bool concerns(const struct process *process, const struct dnv_target *target)
{
	if (process->gpu != target->gpu)
		return false;
	if (target->gi && process->info.gi != target->gi->id)
		return false;
	return !target->ci || process->info.ci == target->ci->id;
}

bool dnv_processes_use(const struct dnv_target *target)
{
	struct processes all;

	read_processes(&all);
	for (uint32_t i = 0; i < all.n; i++)
		if (concerns(&all.items[i], target))
			return true;
	return false;
}

uint64_t dnv_processes_bytes(const struct dnv_target *target)
{
	/* Compute instances share the memory of their GPU instance. */
	struct dnv_target whole = *target;
	struct processes all;
	uint64_t sum = 0;

	whole.ci = NULL;
	read_processes(&all);
	for (uint32_t i = 0; i < all.n; i++)
		if (concerns(&all.items[i], &whole) &&
			all.items[i].info.bytes != DNV_NOT_AVAILABLE)
			sum += all.items[i].info.bytes;
	return sum;
}

int dnv_processes_find(struct dnv_handle *device, const char *kinds,
	struct dnv_process *ret, uint32_t *n)
{
	struct dnv_target target;
	struct processes all;
	int r = dnv_resolve(device, DNV_KIND_GPU | DNV_KIND_MIG, &target);

	if (r)
		return r;
	if (target.kind == DNV_KIND_MIG && target.config->vgpu == DNV_VGPU_HOST)
		return DNV_NOT_SUPPORTED;
	if (target.kind == DNV_KIND_GPU && target.state->mig && dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	read_processes(&all);
	*n = 0;
	for (uint32_t i = 0; i < all.n; i++)
		if (strchr(kinds, all.items[i].kind) && concerns(&all.items[i], &target))
			ret[(*n)++] = all.items[i].info;
	return DNV_SUCCESS;
}

static int answer(
	struct dnv_handle *device, const char *kinds, uint32_t *count, void *ret)
{
	struct dnv_process found[DNV_PROCESSES_MAX] = {0};
	uint32_t n;
	int r = dnv_processes_find(device, kinds, found, &n);

	return r ? r : dnv_answer_array(ret, count, found, n, sizeof(found[0]));
}

static int answer_v1(
	struct dnv_handle *device, const char *kinds, uint32_t *count, void *ret)
{
	struct dnv_process found[DNV_PROCESSES_MAX] = {0};
	struct dnv_process_v1 old[DNV_PROCESSES_MAX] = {0};
	uint32_t n;
	int r = dnv_processes_find(device, kinds, found, &n);

	if (r)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		old[i].pid = found[i].pid;
		old[i].bytes = found[i].bytes;
	}
	return dnv_answer_array(ret, count, old, n, sizeof(old[0]));
}

#define LISTS(name, kinds, type, how)                                         \
	int dnv_nvmlDeviceGet##name(                                          \
		struct dnv_handle *device, uint32_t *count, struct type *ret) \
	{                                                                     \
		return how(device, kinds, count, ret);                        \
	}
LISTS(ComputeRunningProcesses, "C", dnv_process_v1, answer_v1)
LISTS(GraphicsRunningProcesses, "G", dnv_process_v1, answer_v1)
LISTS(ComputeRunningProcesses_v2, "C", dnv_process, answer)
LISTS(GraphicsRunningProcesses_v2, "G", dnv_process, answer)
LISTS(ComputeRunningProcesses_v3, "C", dnv_process, answer)
LISTS(GraphicsRunningProcesses_v3, "G", dnv_process, answer)
LISTS(MPSComputeRunningProcesses_v3, "M", dnv_process, answer)
