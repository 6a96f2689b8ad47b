/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* Pools of memory, which are regions by another name. */

int dhs_hsa_amd_agent_iterate_memory_pools(hsa_agent handle, hsa_visit visit, void *user)
{
	struct agent *agent = dhs_agent(handle);
	int r = 0;

	if (!agent)
		return HSA_INVALID_AGENT;
	for (uint32_t i = 0; i < agent->n_pools && !r; i++)
		r = visit(dhs_handle(&agent->pools[i]), user);
	return r;
}

int dhs_hsa_agent_iterate_regions(hsa_agent handle, hsa_visit visit, void *user)
{
	return dhs_hsa_amd_agent_iterate_memory_pools(handle, visit, user);
}

static uint64_t bytes_of(const struct pool *pool)
{
	return pool->agent->kind == HSA_DEVICE_GPU ? pool->agent->info.memory_bytes
						   : (uint64_t)1 << 40;
}

int dhs_hsa_amd_memory_pool_get_info(hsa_pool handle, int what, void *ret)
{
	const struct pool *pool = dhs_pool(handle);

	if (!pool)
		return HSA_INVALID_POOL;
	switch (what) {
	case HSA_POOL_SEGMENT:
		return dhs_give_u32(ret, 0);
	case HSA_POOL_FLAGS:
		return dhs_give_u32(ret, pool->flags);
	case HSA_POOL_SIZE:
	case HSA_POOL_ALLOC_MAX:
		*(size_t *)ret = bytes_of(pool);
		return 0;
	case HSA_POOL_ALLOC_ALLOWED:
		*(bool *)ret = true;
		return 0;
	case HSA_POOL_GRANULE:
	case HSA_POOL_ALIGNMENT:
		*(size_t *)ret = GRANULE;
		return 0;
	case HSA_POOL_ACCESSIBLE_BY_ALL:
		*(bool *)ret = pool->agent->kind == HSA_DEVICE_CPU;
		return 0;
	}
	return HSA_INVALID_ARGUMENT;
}

/* Regions have other numbers for the same properties. */
int dhs_hsa_region_get_info(hsa_handle region, int what, void *ret)
{
	static const int same[] = {HSA_POOL_SEGMENT, HSA_POOL_FLAGS, HSA_POOL_SIZE, -1,
		HSA_POOL_ALLOC_MAX, HSA_POOL_ALLOC_ALLOWED, HSA_POOL_GRANULE,
		HSA_POOL_ALIGNMENT};

	if (what < 0 || what > 7 || same[what] < 0)
		return HSA_INVALID_ARGUMENT;
	return dhs_hsa_amd_memory_pool_get_info(region, same[what], ret)
		       ? HSA_INVALID_REGION
		       : 0;
}
