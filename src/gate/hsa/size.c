/* SPDX-License-Identifier: Apache-2.0 */
/* The reported size of a GPU is the quota, for all callers but HIP.  HIP gets the real
 * size, and the gate cuts HIP's own answers to the quota of the moment (hip/size.c).  The
 * reported number of compute units is the lease's. */
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
		clv_ledger_clamp_info(ret, NULL);
	/* For HIP too, which limits cooperative launches by this number. */
	if ((what == CLV_HSA_AGENT_UNITS || what == CLV_HSA_AGENT_COOPERATIVE_UNITS) &&
		clv_hsa_agent_is_gpu(agent))
		clv_hsa_units_limit(ret);
	return r;
}

static int show(const void *caller, uint64_t pool, void *size, int result)
{
	if (result == CLV_HSA_SUCCESS && !clv_caller_is_hip(caller) &&
		clv_hsa_pool_is_gpus(pool))
		clv_ledger_clamp_info(NULL, size);
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
