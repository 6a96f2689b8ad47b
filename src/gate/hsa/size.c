/* SPDX-License-Identifier: Apache-2.0 */
/* How big a GPU is: as big as the quota, for whoever asks.  Only HIP is told the real
 * size; it shows the quota itself as it is when a program looks (hip/size.c).  And how
 * many compute units it has: the lease's. */
#include "gate/hsa/caller.h"
#include "gate/hsa/library.h"
#include "gate/hsa/pools.h"
#include "gate/hsa/units.h"
#include "gate/memory/ledger.h"

int clv_own_hsa_agent_get_info(clv_fn_hsa_agent_get_info *real, const void *caller,
	uint64_t agent, int what, void *ret)
{
	int r = real(agent, what, ret);

	if (r != CLV_HSA_SUCCESS)
		return r;
	if (what == CLV_HSA_AGENT_MEMORY_AVAILABLE && !clv_caller_is_hip(caller) &&
		clv_hsa_agent_is_gpu(agent))
		clv_ledger_show(ret, NULL);
	/* HIP too: by this it knows how large a cooperative launch may be. */
	if ((what == CLV_HSA_AGENT_UNITS || what == CLV_HSA_AGENT_COOPERATIVE_UNITS) &&
		clv_hsa_agent_is_gpu(agent))
		clv_hsa_units_show(ret);
	return r;
}

static int show(const void *caller, uint64_t pool, void *size, int result)
{
	if (result == CLV_HSA_SUCCESS && !clv_caller_is_hip(caller) &&
		clv_hsa_pool_is_gpus(pool))
		clv_ledger_show(NULL, size);
	return result;
}

int clv_own_hsa_amd_memory_pool_get_info(clv_fn_hsa_amd_memory_pool_get_info *real,
	const void *caller, uint64_t pool, int what, void *ret)
{
	int r = real(pool, what, ret);

	if (what != CLV_HSA_POOL_SIZE && what != CLV_HSA_POOL_ALLOCATION_MAX)
		return r;
	return show(caller, pool, ret, r);
}

int clv_own_hsa_region_get_info(clv_fn_hsa_region_get_info *real, const void *caller,
	uint64_t region, int what, void *ret)
{
	int r = real(region, what, ret);

	if (what != CLV_HSA_POOL_SIZE && what != CLV_HSA_REGION_ALLOCATION_MAX)
		return r;
	return show(caller, region, ret, r);
}
