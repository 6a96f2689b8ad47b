/* SPDX-License-Identifier: Apache-2.0 */
#include "../../nvml/node.h"
#include "rm.h"
#include <string.h>

/* The GPUs of `node`, as in the NVML double. */

static uint32_t multiprocessors(const struct dnv_model *model)
{
	bool is_small = model->capability[0] < 8 ||
			(model->capability[0] == 8 && model->capability[1] == 0);

	return model->cores / (is_small ? 64 : 128);
}

static void read_gpu(const struct dnv_gpu *gpu, struct dgp_gpu_info *ret)
{
	snprintf(ret->name, sizeof(ret->name), "%s", gpu->model->name);
	memcpy(ret->uuid, gpu->uuid, sizeof(ret->uuid));
	ret->domain = gpu->domain;
	ret->bus = gpu->bus;
	ret->device = gpu->device;
	ret->units = multiprocessors(gpu->model);
	ret->capability[0] = gpu->model->capability[0];
	ret->capability[1] = gpu->model->capability[1];
	/* Programs do not see the memory that the driver keeps. */
	ret->memory_bytes = (uint64_t)(gpu->model->memory_mib - gpu->model->reserved_mib)
			    << 20;
}

static bool read_node(int dirfd, struct machine *m)
{
	static struct dnv_node node;
	bool there = dnv_node_read(dirfd, &node);

	m->n_gpus = node.n_gpus;
	for (uint32_t i = 0; i < node.n_gpus; i++)
		read_gpu(&node.gpus[i], &m->gpus[i].info);
	return there;
}

static void tell(const struct process *process, const struct gpu *gpu, FILE *to)
{
	fprintf(to, "%d %u - - %llu C\n", process->pid, gpu->index,
		(unsigned long long)process->usage[gpu->index].bytes);
}

const struct dgp_vendor dgp_vendor = {
	.version = 12090,
	.context_mib = 300,
	.read_node = read_node,
	.node_file = "node",
	.tell_option = "tell-nvml",
	.tell_file = "processes",
	.tell = tell,
	.driver = &dcu_rm,
};
