/* SPDX-License-Identifier: Apache-2.0 */
/* HSA's pools and regions: whether they are a GPU's, and to what they round sizes. */
#include "gate/hsa/pools.h"

#include "gate/hsa/library.h"

#include <pthread.h>

#define POOLS_MAX 512
#define PAGE_BYTES 4096
#define LARGE_PAGE_BYTES (UINT64_C(2) << 20) /* no driver rounds to more */

static struct pool {
	uint64_t handle, granule_bytes;
	bool is_gpus;
} pools[POOLS_MAX];
static uint32_t n_pools;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int ask_device(uint64_t agent, uint32_t *ret)
{
	*ret = CLV_HSA_DEVICE_GPU;
	return clv_hsa.hsa_agent_get_info(agent, CLV_HSA_AGENT_DEVICE, ret);
}

bool clv_hsa_agent_is_gpu(uint64_t agent)
{
	uint32_t device;

	return ask_device(agent, &device) != CLV_HSA_SUCCESS ||
	       device == CLV_HSA_DEVICE_GPU;
}

static struct pool *find(uint64_t handle)
{
	for (uint32_t i = 0; i < n_pools; i++) {
		if (pools[i].handle == handle)
			return &pools[i];
	}
	return NULL;
}

static int add(uint64_t handle, void *userdata, clv_fn_hsa_region_get_info *ask)
{
	size_t granule_bytes = 0;

	if (find(handle) || n_pools == POOLS_MAX ||
		ask(handle, CLV_HSA_POOL_GRANULE, &granule_bytes) != CLV_HSA_SUCCESS)
		return CLV_HSA_SUCCESS;
	pools[n_pools++] = (struct pool){
		handle, granule_bytes ? granule_bytes : PAGE_BYTES, *(bool *)userdata};
	return CLV_HSA_SUCCESS;
}

static int add_pool(uint64_t pool, void *userdata)
{
	return add(pool, userdata, clv_hsa.hsa_amd_memory_pool_get_info);
}

static int add_region(uint64_t region, void *userdata)
{
	return add(region, userdata, clv_hsa.hsa_region_get_info);
}

static int add_pools_of_agent(uint64_t agent, void *userdata)
{
	uint32_t device;
	bool is_gpu;

	(void)userdata;
	/* The agent's pools are read by a later lookup. */
	if (ask_device(agent, &device) != CLV_HSA_SUCCESS)
		return CLV_HSA_SUCCESS;
	is_gpu = device == CLV_HSA_DEVICE_GPU;
	clv_hsa.hsa_amd_agent_iterate_memory_pools(
		agent, (void *)(uintptr_t)add_pool, &is_gpu);
	clv_hsa.hsa_agent_iterate_regions(agent, (void *)(uintptr_t)add_region, &is_gpu);
	return CLV_HSA_SUCCESS;
}

/* Pools have other handles after HSA was shut down and initialized again, so an unknown
 * handle makes the table be read again.  A pool that HSA does not list counts as a GPU's,
 * with the largest granule. */
static struct pool find_or_read(uint64_t handle)
{
	struct pool found = {handle, LARGE_PAGE_BYTES, true};

	pthread_mutex_lock(&lock);
	if (!find(handle)) {
		n_pools = 0;
		clv_hsa.hsa_iterate_agents((void *)(uintptr_t)add_pools_of_agent, NULL);
	}
	if (find(handle))
		found = *find(handle);
	pthread_mutex_unlock(&lock);
	return found;
}

bool clv_hsa_pool_is_gpus(uint64_t pool)
{
	return find_or_read(pool).is_gpus;
}

uint64_t clv_hsa_rounded_bytes(uint64_t pool, uint64_t n_bytes)
{
	uint64_t unit = find_or_read(pool).granule_bytes;

	return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}

void clv_hsa_pools_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
