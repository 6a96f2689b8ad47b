/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: charged by what their elements need at least before the driver is asked, and by
 * what the driver says that they take afterwards. */
#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"

#include "base/cleanup.h"

/* Bytes of an element's channel by CUarray_format, in sixteenths: compressed formats have
 * less than one.  What is not here (planes of video) counts as four bytes. */
static const struct {
	uint8_t format, sixteenths;
} channel_sizes[] = {
	{0x01, 16}, {0x02, 32}, {0x03, 64}, /* unsigned integers */
	{0x08, 16}, {0x09, 32}, {0x0a, 64}, /* signed */
	{0x10, 32}, {0x20, 64},             /* half and float */
	{0xc0, 16}, {0xc1, 16}, {0xc2, 16}, {0xc3, 32}, {0xc4, 32}, {0xc5, 32},
	{0xc6, 16}, {0xc7, 16}, {0xc8, 16}, {0xc9, 32}, {0xca, 32}, {0xcb, 32}, {0x91, 2},
	{0x92, 2}, {0x93, 4}, {0x94, 4}, {0x95, 4}, {0x96, 4}, /* BC1 to 3 */
	{0x97, 8}, {0x98, 8}, {0x99, 8}, {0x9a, 8},            /* BC4, 5 */
	{0x9b, 4}, {0x9c, 4}, {0x9d, 4}, {0x9e, 4},            /* BC6H, 7 */
};

static uint64_t bytes_of(const struct clv_cuda_array_3d *array)
{
	uint64_t sixteenths = 64, n = array->width;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(channel_sizes); i++) {
		if (channel_sizes[i].format == array->format)
			sixteenths = channel_sizes[i].sixteenths;
	}
	n *= array->height ? array->height : 1;
	n *= array->depth ? array->depth : 1;
	if (array->flags & (CLV_CUDA_ARRAY_SPARSE | CLV_CUDA_ARRAY_DEFERRED))
		return 0;
	return n * array->n_channels * sixteenths / 16;
}

typedef int needs_function(void *ret_needs, void *array, int device);

/* What the driver says of it, or what was charged. */
static uint64_t real_bytes(needs_function *ask, void *array, uint64_t charged_bytes)
{
	struct clv_cuda_array_needs needs = {0};
	int device = 0;

	if (charged_bytes == 0 || clv_cuda.cuCtxGetDevice(&device) != CLV_CUDA_SUCCESS ||
		ask(&needs, array, device) != CLV_CUDA_SUCCESS ||
		needs.n_bytes < charged_bytes)
		return charged_bytes;
	return needs.n_bytes;
}

/* The rest of what it really takes.  False: that is over the quota. */
static bool charge_rest(struct clv_charge *charge, uint64_t bytes)
{
	struct clv_charge rest;

	if (!charge->charged || bytes <= charge->n_bytes)
		return true;
	if (!clv_cuda_charge(bytes - charge->n_bytes, &rest))
		return false;
	charge->n_bytes = bytes;
	return true;
}

static int settle(struct clv_charge *charge, void **made, int result, needs_function *ask,
	int (*destroy)(void *array))
{
	if (result == CLV_CUDA_SUCCESS &&
		!charge_rest(charge, real_bytes(ask, *made, charge->n_bytes))) {
		destroy(*made);
		result = CLV_CUDA_OUT_OF_MEMORY;
	}
	return clv_cuda_settle(charge,
		result == CLV_CUDA_SUCCESS ? (uint64_t)(uintptr_t)*made : 0, result);
}

int clv_own_cuArrayCreate_v2(
	clv_fn_cuArrayCreate_v2 *real, void *p_handle, void *p_allocate_array)
{
	const struct clv_cuda_array_2d *flat = p_allocate_array;
	struct clv_cuda_array_3d array = {0};
	struct clv_charge charge;

	if (!flat || !p_handle)
		return real(p_handle, p_allocate_array);
	array.width = flat->width;
	array.height = flat->height;
	array.format = flat->format;
	array.n_channels = flat->n_channels;
	if (!clv_cuda_charge(bytes_of(&array), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle, real(p_handle, p_allocate_array),
		clv_cuda.cuArrayGetMemoryRequirements, clv_cuda.cuArrayDestroy);
}

int clv_own_cuArray3DCreate_v2(
	clv_fn_cuArray3DCreate_v2 *real, void *p_handle, void *p_allocate_array)
{
	struct clv_charge charge;

	if (!p_allocate_array || !p_handle)
		return real(p_handle, p_allocate_array);
	if (!clv_cuda_charge(bytes_of(p_allocate_array), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle, real(p_handle, p_allocate_array),
		clv_cuda.cuArrayGetMemoryRequirements, clv_cuda.cuArrayDestroy);
}

/* Its levels are a third more than the first at most. */
int clv_own_cuMipmappedArrayCreate(clv_fn_cuMipmappedArrayCreate *real, void *p_handle,
	void *p_mipmapped_array_desc, uint32_t num_mipmap_levels)
{
	struct clv_charge charge;

	if (!p_mipmapped_array_desc || !p_handle)
		return real(p_handle, p_mipmapped_array_desc, num_mipmap_levels);
	if (!clv_cuda_charge(bytes_of(p_mipmapped_array_desc), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle,
		real(p_handle, p_mipmapped_array_desc, num_mipmap_levels),
		clv_cuda.cuMipmappedArrayGetMemoryRequirements,
		clv_cuda.cuMipmappedArrayDestroy);
}

int clv_own_cuArrayDestroy(clv_fn_cuArrayDestroy *real, void *h_array)
{
	return CLV_CUDA_FREE(h_array, real(h_array));
}

int clv_own_cuMipmappedArrayDestroy(
	clv_fn_cuMipmappedArrayDestroy *real, void *h_mipmapped_array)
{
	return CLV_CUDA_FREE(h_mipmapped_array, real(h_mipmapped_array));
}
