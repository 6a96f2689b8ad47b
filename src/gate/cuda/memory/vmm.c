/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that programs map by hand (gate/memory/pieces.h). */
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/charge.h"
#include "gate/memory/charges.h"
#include "gate/memory/pieces.h"
#include "gate/process/view.h"

#include <unistd.h>

static int record_piece(
	const struct clv_charge *charge, const uint64_t *handle, int result)
{
	if (result == CLV_CUDA_SUCCESS)
		clv_piece_add(*handle, charge);
	else
		clv_charge_undo(charge);
	return result;
}

int clv_own_cuMemCreate(
	clv_fn_cuMemCreate *real, void *handle, size_t size, void *prop, uint64_t flags)
{
	const struct clv_cuda_memory_properties *properties = prop;
	bool is_of_device = clv_cuda_is_readable(properties, sizeof(*properties)) &&
			    properties->location.type == CLV_CUDA_LOCATION_DEVICE;
	struct clv_charge charge = {0};

	if (is_of_device && !clv_cuda_charge(size, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return record_piece(&charge, handle, real(handle, size, prop, flags));
}

/* A multicast object has no memory of its own: its mappings show the memory that is bound
 * to it. */
int clv_own_cuMulticastCreate(clv_fn_cuMulticastCreate *real, void *mc_handle, void *prop)
{
	struct clv_charge none = {0};

	return record_piece(&none, mc_handle, real(mc_handle, prop));
}

int clv_own_cuMemRelease(clv_fn_cuMemRelease *real, uint64_t handle)
{
	int r;

	clv_pieces_lock();
	r = real(handle);
	if (r == CLV_CUDA_SUCCESS)
		clv_piece_release(handle);
	clv_pieces_unlock();
	return r;
}

int clv_own_cuMemRetainAllocationHandle(
	clv_fn_cuMemRetainAllocationHandle *real, void *handle, void *addr)
{
	int r;

	clv_pieces_lock();
	r = real(handle, addr);
	if (r == CLV_CUDA_SUCCESS)
		clv_piece_retain(*(uint64_t *)handle);
	clv_pieces_unlock();
	return r;
}

/* Nothing shows how long memory exists that other processes, or nodes, have by such a
 * handle. */
static bool is_unseen_kind(int handle_type)
{
	return handle_type == CLV_CUDA_HANDLE_FABRIC && clv_gate_current_view();
}

/* Refused where the memory could outlive this process and be charged to none
 * (memory/pieces.h). */
int clv_own_cuMemExportToShareableHandle(clv_fn_cuMemExportToShareableHandle *real,
	void *shareable_handle, uint64_t handle, int handle_type, uint64_t flags)
{
	int r;

	if (is_unseen_kind(handle_type))
		return CLV_CUDA_NOT_SUPPORTED;
	clv_pieces_lock();
	r = real(shareable_handle, handle, handle_type, flags);
	if (r == CLV_CUDA_SUCCESS && handle_type == CLV_CUDA_HANDLE_FILE &&
		!clv_piece_exported(handle, *(int *)shareable_handle)) {
		close(*(int *)shareable_handle);
		r = CLV_CUDA_NOT_SUPPORTED;
	}
	clv_pieces_unlock();
	return r;
}

/* A dma-buf.  What pools have, and what no charge is known of, is refused. */
int clv_own_cuMemGetHandleForAddressRange(clv_fn_cuMemGetHandleForAddressRange *real,
	void *handle, uint64_t address, size_t size, int handle_type, uint64_t flags)
{
	int r;

	clv_pieces_lock();
	r = real(handle, address, size, handle_type, flags);
	if (r == CLV_CUDA_SUCCESS &&
		clv_piece_range_exported(address, *(int *)handle) != CLV_RANGE_KEPT) {
		close(*(int *)handle);
		r = CLV_CUDA_NOT_SUPPORTED;
	}
	clv_pieces_unlock();
	return r;
}

int clv_own_cuMemImportFromShareableHandle(clv_fn_cuMemImportFromShareableHandle *real,
	void *handle, void *os_handle, int handle_type)
{
	int fd = handle_type == CLV_CUDA_HANDLE_FILE ? (int)(intptr_t)os_handle : -1;
	int r;

	if (is_unseen_kind(handle_type))
		return CLV_CUDA_NOT_SUPPORTED;
	clv_pieces_lock();
	r = real(handle, os_handle, handle_type);
	if (r == CLV_CUDA_SUCCESS && !clv_piece_imported(*(uint64_t *)handle, fd)) {
		clv_cuda.cuMemRelease(*(uint64_t *)handle);
		r = CLV_CUDA_OUT_OF_MEMORY;
	}
	clv_pieces_unlock();
	return r;
}

int clv_own_cuMemMap(clv_fn_cuMemMap *real, uint64_t address, size_t size, size_t offset,
	uint64_t handle, uint64_t flags)
{
	struct clv_charge charge = {0};
	struct clv_mapping *mapping;
	int r;

	if (!clv_piece_is_known(handle) && !clv_cuda_charge(size, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	mapping = clv_mapping_new(address, size, &charge);
	if (!mapping)
		return CLV_CUDA_OUT_OF_MEMORY;
	clv_pieces_lock();
	r = real(address, size, offset, handle, flags);
	clv_mapping_done(mapping, handle, r == CLV_CUDA_SUCCESS);
	clv_pieces_unlock();
	return r;
}

int clv_own_cuMemUnmap(clv_fn_cuMemUnmap *real, uint64_t address, size_t size)
{
	int r;

	clv_pieces_lock();
	r = real(address, size);
	if (r == CLV_CUDA_SUCCESS)
		clv_mappings_forget(address, size);
	clv_pieces_unlock();
	return r;
}
