/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "../../gpu/client/faults.h"
#include "objects.h"

int dcu_call_anytime(const char *symbol)
{
	return dgp_fault_due(symbol);
}

int dcu_call_begin(const char *symbol, bool is_own)
{
	if (!dcu_initialized || dgp_forked)
		return DCU_NOT_INITIALIZED;
	dcu_thread.per_thread = is_own;
	return dgp_fault_due(symbol);
}
