/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The agents: the processor, and the visible GPUs. Their pools follow them in the table,
 * and are their regions too. */

struct agent dhs_agents[DGP_GPUS_MAX + 1];
int dhs_n_agents;

static void add_pools(struct agent *agent)
{
	static const uint32_t of_cpu[] = {
		HSA_POOL_FINE, HSA_POOL_FINE | HSA_POOL_KERNARG, HSA_POOL_COARSE};
	static const uint32_t of_gpu[] = {HSA_POOL_COARSE, HSA_POOL_FINE};
	bool is_cpu = agent->kind == HSA_DEVICE_CPU;

	agent->n_pools = is_cpu ? 3 : 2;
	for (uint32_t i = 0; i < agent->n_pools; i++)
		agent->pools[i] = (struct pool){agent, is_cpu ? of_cpu[i] : of_gpu[i]};
}

static struct agent *add_agent(uint32_t kind)
{
	struct agent *agent = &dhs_agents[dhs_n_agents++];

	agent->kind = kind;
	pthread_mutex_init(&agent->lock, NULL);
	add_pools(agent);
	return agent;
}

void dhs_agents_find(void)
{
	struct dgp_gpu_info all[DGP_GPUS_MAX];
	uint32_t chosen[DGP_GPUS_MAX], n = 0;
	int n_chosen;

	while (n < DGP_GPUS_MAX) {
		struct dgp_message message = {.request = DGP_GPU, .a = n};

		if (dgp_request(&message))
			break;
		all[n++] = message.gpu;
	}
	add_agent(HSA_DEVICE_CPU);
	n_chosen = dhs_visible(all, n, chosen);
	for (int i = 0; i < n_chosen; i++) {
		struct agent *agent = add_agent(HSA_DEVICE_GPU);

		agent->gpu = chosen[i];
		agent->info = all[chosen[i]];
	}
}

struct agent *dhs_agent(hsa_agent handle)
{
	for (int i = 0; i < dhs_n_agents; i++)
		if (dhs_handle(&dhs_agents[i]) == handle)
			return &dhs_agents[i];
	return NULL;
}

struct pool *dhs_pool(hsa_pool handle)
{
	for (int i = 0; i < dhs_n_agents; i++)
		for (uint32_t k = 0; k < dhs_agents[i].n_pools; k++)
			if (dhs_handle(&dhs_agents[i].pools[k]) == handle)
				return &dhs_agents[i].pools[k];
	return NULL;
}

uint32_t dhs_context(struct agent *agent)
{
	pthread_mutex_lock(&agent->lock);
	if (!agent->context) {
		struct dgp_message message = {
			.request = DGP_CONTEXT_NEW, .a = agent->gpu};

		if (!dgp_request(&message))
			agent->context = (uint32_t)message.a;
	}
	pthread_mutex_unlock(&agent->lock);
	return agent->context;
}

int dhs_hsa_iterate_agents(hsa_visit visit, void *user)
{
	int r = visit ? 0 : HSA_INVALID_ARGUMENT;

	for (int i = 0; i < dhs_n_agents && !r; i++)
		r = visit(dhs_handle(&dhs_agents[i]), user);
	return r;
}

/* --- Properties of an agent --- */

int dhs_give_u32(void *ret, uint32_t value)
{
	*(uint32_t *)ret = value;
	return 0;
}

int dhs_give_text(void *ret, const char *text, size_t bytes)
{
	memset(ret, 0, bytes);
	snprintf(ret, bytes, "%s", text);
	return 0;
}

static const struct {
	int what;
	uint32_t of_cpu, of_gpu;
} numbers[] = {
	{HSA_AGENT_FEATURE, 2, 1},
	{HSA_AGENT_PROFILE, 1, 0},
	{HSA_AGENT_WORKGROUP_MAX, 0, 1024},
	{HSA_AGENT_GRID_MAX, 0, UINT32_MAX},
	{HSA_AGENT_QUEUES_MAX, 0, 128},
	{HSA_AGENT_QUEUE_MIN, 0, 64},
	{HSA_AGENT_QUEUE_MAX, 0, 131072},
	{HSA_AGENT_QUEUE_TYPE, HSA_QUEUE_MULTI, HSA_QUEUE_MULTI},
	{HSA_AGENT_DEVICE, HSA_DEVICE_CPU, HSA_DEVICE_GPU},
	{HSA_AMD_CACHELINE, 64, 64},
	{HSA_AMD_CLOCK, 3000, 1700},
	{HSA_AMD_MEMORY_WIDTH, 0, 4096},
	{HSA_AMD_MEMORY_CLOCK, 0, 1600},
	{HSA_AMD_WAVES, 0, 32},
	{HSA_AMD_SIMDS, 0, 4},
	{HSA_AMD_ENGINES, 0, 8},
	{HSA_AMD_ARRAYS, 0, 1},
	{HSA_AMD_ASIC_REVISION, 0, 1},
};

static void give_caches(uint32_t ret[4])
{
	memset(ret, 0, 4 * sizeof(uint32_t));
	ret[0] = 16 << 10;
	ret[1] = 8 << 20;
}

static int give_shape(const struct agent *agent, int what, void *ret)
{
	bool is_gpu = agent->kind == HSA_DEVICE_GPU;

	switch (what) {
	case HSA_AGENT_WORKGROUP_MAX_DIM:
		for (int i = 0; i < 3; i++)
			((uint16_t *)ret)[i] = is_gpu ? 1024 : 0;
		return 0;
	case HSA_AGENT_GRID_MAX_DIM:
		for (int i = 0; i < 3; i++)
			((uint32_t *)ret)[i] = is_gpu ? UINT32_MAX : 0;
		return 0;
	case HSA_AGENT_CACHES:
		give_caches(ret);
		return 0;
	case HSA_AGENT_ISA:
		*(uint64_t *)ret = is_gpu ? dhs_handle(agent) : 0;
		return 0;
	case HSA_AGENT_EXTENSIONS:
		memset(ret, 0, 128);
		return 0;
	case HSA_AGENT_VERSION_MAJOR:
	case HSA_AGENT_VERSION_MINOR:
		*(uint16_t *)ret = 1;
		return 0;
	case HSA_AMD_COOPERATIVE_QUEUES:
		*(bool *)ret = is_gpu;
		return 0;
	case HSA_AMD_SVM_DIRECT:
		*(bool *)ret = false;
		return 0;
	}
	return HSA_INVALID_ARGUMENT;
}

static int give_available(const struct agent *agent, void *ret)
{
	struct dgp_message message = {.request = DGP_MEMORY, .a = agent->gpu};

	if (agent->kind != HSA_DEVICE_GPU || dgp_request(&message))
		return HSA_INVALID_ARGUMENT;
	*(uint64_t *)ret = message.a;
	return 0;
}

static int give_identity(const struct agent *agent, int what, void *ret)
{
	const struct dgp_gpu_info *info = &agent->info;
	bool is_gpu = agent->kind == HSA_DEVICE_GPU;
	char short_arch[16];

	switch (what) {
	case HSA_AGENT_NAME:
		snprintf(short_arch, sizeof(short_arch), "%.*s",
			(int)strcspn(info->arch, ":"), info->arch);
		return dhs_give_text(ret, is_gpu ? short_arch : "Double CPU", 64);
	case HSA_AGENT_VENDOR:
		return dhs_give_text(ret, is_gpu ? "AMD" : "CPU", 64);
	case HSA_AMD_PRODUCT:
		return dhs_give_text(ret, is_gpu ? info->name : "Double CPU", 64);
	case HSA_AMD_UUID:
		return dhs_give_text(ret, is_gpu ? info->uuid : "CPU-XX", 21);
	case HSA_AGENT_NODE:
	case HSA_AMD_NODE:
		return dhs_give_u32(ret, is_gpu ? info->node + 1 : 0);
	case HSA_AMD_CHIP:
		return dhs_give_u32(ret, info->chip);
	case HSA_AMD_BDF:
		return dhs_give_u32(ret, info->bus << 8 | info->device << 3);
	case HSA_AMD_DOMAIN:
		return dhs_give_u32(ret, info->domain);
	case HSA_AMD_UNITS:
	case HSA_AMD_COOPERATIVE_UNITS:
		return dhs_give_u32(ret,
			is_gpu ? info->units : (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	case HSA_AGENT_WAVEFRONT:
		return dhs_give_u32(ret, !is_gpu                     ? 0
					 : info->capability[0] >= 10 ? 32
								     : 64);
	case HSA_AMD_MEMORY_AVAILABLE:
		return give_available(agent, ret);
	}
	return give_shape(agent, what, ret);
}

int dhs_hsa_agent_get_info(hsa_agent handle, int what, void *ret)
{
	const struct agent *agent = dhs_agent(handle);

	if (!agent)
		return HSA_INVALID_AGENT;
	if (!ret)
		return HSA_INVALID_ARGUMENT;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].what == what)
			return dhs_give_u32(ret, agent->kind == HSA_DEVICE_CPU
							 ? numbers[i].of_cpu
							 : numbers[i].of_gpu);
	return give_identity(agent, what, ret);
}

/* An agent's instruction set has the agent's handle. */
int dhs_hsa_agent_iterate_isas(hsa_agent handle, hsa_visit visit, void *user)
{
	const struct agent *agent = dhs_agent(handle);

	if (!agent)
		return HSA_INVALID_AGENT;
	return agent->kind == HSA_DEVICE_GPU ? visit(handle, user) : 0;
}

int dhs_hsa_isa_get_info_alt(hsa_handle isa, int what, void *ret)
{
	const struct agent *agent = dhs_agent(isa);
	char name[80];

	if (!agent || agent->kind != HSA_DEVICE_GPU)
		return 0x100f;
	snprintf(name, sizeof(name), "amdgcn-amd-amdhsa--%s", agent->info.arch);
	if (what == 0)
		return dhs_give_u32(ret, (uint32_t)strlen(name) + 1);
	if (what == 1)
		return dhs_give_text(ret, name, strlen(name) + 1);
	return HSA_INVALID_ARGUMENT;
}
