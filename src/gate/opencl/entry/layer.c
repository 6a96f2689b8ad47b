/* SPDX-License-Identifier: Apache-2.0 */
/* The gate as a layer (OPENCL_LAYERS; CL/cl_layer.h): the loader passes its own calls and
 * gets a table with the gate's wrappers.  All loaders read the drivers first; if the gate
 * is loaded as a driver (icd.c), it is below all layers, and the layer only restricts
 * what the program sees to the lease's device. */
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/entry/icd.h"
#include "gate/opencl/entry/refused.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Part of cl_loader_layers 1.0.1, which older headers lack. */
EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n_entries,
	const cl_icd_dispatch *target, cl_uint *ret_n_entries,
	const cl_icd_dispatch **ret_dispatch, const intptr_t *properties);

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT cl_int CL_API_CALL clGetLayerInfo(
	cl_layer_info what, size_t room, void *value, size_t *ret_bytes)
{
	static const char name[] = "cleave";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t n_bytes = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && room < n_bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, n_bytes);
	if (ret_bytes)
		*ret_bytes = n_bytes;
	return CL_SUCCESS;
}

/* The gate calls the functions of the loader that came first; each loader's functions
 * find the driver by the object.  So that loader must stay loaded, whatever the program
 * closes. */
static void keep_loaded(void *function)
{
	Dl_info loader;

	if (dladdr(function, &loader) && loader.dli_fname)
		(void)!dlopen(loader.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void take_calls(const cl_icd_dispatch *target, size_t n)
{
	if (!clv_real.clGetPlatformIDs)
		keep_loaded((void *)(uintptr_t)target->clGetPlatformIDs);
	for (size_t i = 0; i < n && i < CLV_OPENCL_N_ENTRIES; i++) {
		if (!*clv_opencl_entry(&clv_real, i))
			*clv_opencl_entry(&clv_real, i) =
				*clv_opencl_entry((cl_icd_dispatch *)target, i);
	}
}

/* can_gate: the gate has all calls that its wrappers make.  A loader of few calls shows
 * no device otherwise. */
static void *layer_entry(const cl_icd_dispatch *target, size_t entry, bool can_gate)
{
	void *wrapper = clv_vendors_are_gated() ? clv_opencl_filter(entry)
						: clv_opencl_wrapper(entry);

	if (wrapper)
		return can_gate ? wrapper : clv_opencl_refusal_function();
	if (entry >= CLV_OPENCL_N_KNOWN)
		return clv_opencl_refusal_function();
	return *clv_opencl_entry((cl_icd_dispatch *)target, entry);
}

cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n_entries,
	const cl_icd_dispatch *target, cl_uint *ret_n_entries,
	const cl_icd_dispatch **ret_dispatch, const intptr_t *properties)
{
	cl_icd_dispatch *table;
	bool can_gate;

	(void)properties;
	if (!target || !ret_n_entries || !ret_dispatch || n_entries == 0)
		return CL_INVALID_VALUE;
	table = calloc(n_entries, sizeof(void *));
	if (!table)
		return CL_OUT_OF_HOST_MEMORY;
	clv_icd_begin();
	pthread_mutex_lock(&init_lock);
	if (!clv_vendors_are_gated())
		take_calls(target, n_entries);
	can_gate = clv_vendors_are_gated() || clv_vendor_has_needed();
	for (size_t i = 0; i < n_entries; i++)
		*clv_opencl_entry(table, i) = layer_entry(target, i, can_gate);
	pthread_mutex_unlock(&init_lock);
	*ret_n_entries = n_entries;
	*ret_dispatch = table;
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n_entries, const cl_icd_dispatch *target,
	cl_uint *ret_n_entries, const cl_icd_dispatch **ret_dispatch)
{
	return clInitLayerWithProperties(
		n_entries, target, ret_n_entries, ret_dispatch, NULL);
}
