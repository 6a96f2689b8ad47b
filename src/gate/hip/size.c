/* SPDX-License-Identifier: Apache-2.0 */
/* The reported size of a device is the quota.  HIP itself gets the real size from HSA
 * (hsa/size.c), because HIP remembers it and the quota may grow. */
#include "gate/hip/library.h"
#include "gate/memory/ledger.h"

#include <string.h>

int clv_own_hipMemGetInfo(clv_fn_hipMemGetInfo *real, void *ret_free, void *ret_total)
{
	int r = real(ret_free, ret_total);

	if (r == CLV_HIP_SUCCESS)
		clv_ledger_clamp_info(ret_free, ret_total);
	return r;
}

int clv_own_hipDeviceTotalMem(clv_fn_hipDeviceTotalMem *real, void *ret, int device)
{
	int r = real(ret, device);

	if (r == CLV_HIP_SUCCESS)
		clv_ledger_clamp_info(NULL, ret);
	return r;
}

/* The attribute is an int, so the size is truncated to 32 bits. */
int clv_own_hipDeviceGetAttribute(
	clv_fn_hipDeviceGetAttribute *real, void *ret, int attribute, int device)
{
	int r = real(ret, attribute, device);
	size_t total_bytes;

	if (r == CLV_HIP_SUCCESS && attribute == CLV_HIP_ATTRIBUTE_TOTAL_MEMORY &&
		clv_hip.hipDeviceTotalMem(&total_bytes, device) == CLV_HIP_SUCCESS) {
		clv_ledger_clamp_info(NULL, &total_bytes);
		*(int *)ret = (int)total_bytes;
	}
	return r;
}

static int show_in_properties(char *properties, size_t place, int result)
{
	size_t total_bytes;

	if (result != CLV_HIP_SUCCESS)
		return result;
	memcpy(&total_bytes, properties + place, sizeof(total_bytes));
	clv_ledger_clamp_info(NULL, &total_bytes);
	memcpy(properties + place, &total_bytes, sizeof(total_bytes));
	return result;
}

int clv_own_hipGetDeviceProperties(
	clv_fn_hipGetDeviceProperties *real, void *ret, int device)
{
	return show_in_properties(ret, CLV_HIP_PROPERTIES_TOTAL_AT, real(ret, device));
}

int clv_own_hipGetDevicePropertiesR0000(
	clv_fn_hipGetDevicePropertiesR0000 *real, void *ret, int device)
{
	return show_in_properties(ret, CLV_HIP_PROPERTIES_TOTAL_AT, real(ret, device));
}

int clv_own_hipGetDevicePropertiesR0600(
	clv_fn_hipGetDevicePropertiesR0600 *real, void *ret, int device)
{
	return show_in_properties(
		ret, CLV_HIP_PROPERTIES_R0600_TOTAL_AT, real(ret, device));
}
