/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays.  The driver tells the size only of arrays whose memory is mapped by hand.  For
 * others it is computed: blocks of 64 bytes by 8 rows, and pages of 64 KiB, as drivers
 * lay arrays out.  The ledger may be off by what a driver rounds up further. */
#include "base/cleanup.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"

#define ROW_BYTES 64u
#define ROWS 8u
#define PAGE_BYTES 65536u
#define LEVELS_MAX 64u

/* Bytes per channel by CUarray_format, in sixteenths, because compressed formats have
 * less than one.  Formats that are not listed (planes of video) count as four bytes. */
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

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t half_of(uint64_t n)
{
	return n > 1 ? n / 2 : n;
}

static uint64_t bytes_of(const struct clv_cuda_array_3d *array, uint32_t n_levels)
{
	uint64_t width = array->width, height = array->height, depth = array->depth;
	uint64_t sixteenths = 64, bytes = 0;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(channel_sizes); i++) {
		if (channel_sizes[i].format == array->format)
			sixteenths = channel_sizes[i].sixteenths;
	}
	sixteenths *= array->n_channels;
	if (array->flags & (CLV_CUDA_ARRAY_SPARSE | CLV_CUDA_ARRAY_DEFERRED))
		return 0;
	/* A driver creates no levels beyond the one whose largest side is 1. */
	for (uint32_t i = 0; i < n_levels && i < LEVELS_MAX; i++) {
		uint64_t row = round_up(width * sixteenths / 16, ROW_BYTES);
		uint64_t n_rows = height ? round_up(height, ROWS) : 1;

		bytes += round_up(row * n_rows * (depth ? depth : 1), PAGE_BYTES);
		width = half_of(width);
		height = half_of(height);
		if (!(array->flags & CLV_CUDA_ARRAY_LAYERED))
			depth = half_of(depth);
	}
	return bytes;
}

static int settle(struct clv_charge *charge, void **made, int result)
{
	return clv_cuda_settle(charge,
		result == CLV_CUDA_SUCCESS ? (uint64_t)(uintptr_t)*made : 0, result);
}

int clv_own_cuArrayCreate_v2(
	clv_fn_cuArrayCreate_v2 *real, void *p_handle, void *p_allocate_array)
{
	const struct clv_cuda_array_2d *flat = p_allocate_array;
	struct clv_cuda_array_3d array = {0};
	struct clv_charge charge;

	if (!p_handle || !clv_cuda_is_readable(flat, sizeof(*flat)))
		return real(p_handle, p_allocate_array);
	array.width = flat->width;
	array.height = flat->height;
	array.format = flat->format;
	array.n_channels = flat->n_channels;
	if (!clv_cuda_charge(bytes_of(&array, 1), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle, real(p_handle, p_allocate_array));
}

int clv_own_cuArray3DCreate_v2(
	clv_fn_cuArray3DCreate_v2 *real, void *p_handle, void *p_allocate_array)
{
	struct clv_charge charge;

	if (!p_handle ||
		!clv_cuda_is_readable(p_allocate_array, sizeof(struct clv_cuda_array_3d)))
		return real(p_handle, p_allocate_array);
	if (!clv_cuda_charge(bytes_of(p_allocate_array, 1), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle, real(p_handle, p_allocate_array));
}

int clv_own_cuMipmappedArrayCreate(clv_fn_cuMipmappedArrayCreate *real, void *p_handle,
	void *p_mipmapped_array_desc, uint32_t num_mipmap_levels)
{
	struct clv_charge charge;

	if (!p_handle || !clv_cuda_is_readable(p_mipmapped_array_desc,
				 sizeof(struct clv_cuda_array_3d)))
		return real(p_handle, p_mipmapped_array_desc, num_mipmap_levels);
	if (!clv_cuda_charge(
		    bytes_of(p_mipmapped_array_desc, num_mipmap_levels), &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, p_handle,
		real(p_handle, p_mipmapped_array_desc, num_mipmap_levels));
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
