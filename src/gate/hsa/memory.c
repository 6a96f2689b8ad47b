/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is allocated and freed by address, and physical memory that programs map by
 * hand (gate/memory/pieces.h). */
#include "gate/hsa/library.h"
#include "gate/hsa/pools.h"
#include "gate/memory/charges.h"
#include "gate/memory/pieces.h"

#include <unistd.h>

/* Charges n_bytes; if that fails, once more after releasing pieces that nothing keeps.
 * False: over quota, and the wrapper returns CLV_HSA_OUT_OF_RESOURCES, which HIP turns
 * into hipErrorOutOfMemory. */
static bool charge_bytes(uint64_t n_bytes, struct clv_charge *ret)
{
	*ret = clv_charge_try(n_bytes);
	if (ret->refused) {
		clv_pieces_settle();
		*ret = clv_charge_take(n_bytes);
	}
	return !ret->refused;
}

static bool charge_pool(uint64_t pool, uint64_t n_bytes, struct clv_charge *ret)
{
	*ret = (struct clv_charge){0};
	return !clv_hsa_pool_is_gpus(pool) ||
	       charge_bytes(clv_hsa_rounded_bytes(pool, n_bytes), ret);
}

static int record_allocation(
	const struct clv_charge *charge, void *const *ret, int result)
{
	if (result != CLV_HSA_SUCCESS) {
		clv_charge_undo(charge);
		return result;
	}
	/* Memory with this address that is still charged was freed by a call that the
	 * gate does not see. */
	clv_release_pointer(*ret);
	clv_charge_pointer(charge, *ret);
	return result;
}

static int record_free(struct clv_charge withdrawn, const void *p, int result)
{
	if (result == CLV_HSA_SUCCESS && !withdrawn.charged)
		clv_piece_allocation_freed((uint64_t)(uintptr_t)p);
	else if (result == CLV_HSA_SUCCESS)
		clv_charge_undo(&withdrawn);
	else
		clv_charge_pointer(&withdrawn, p);
	return result;
}

int clv_own_hsa_amd_memory_pool_allocate(clv_fn_hsa_amd_memory_pool_allocate *real,
	uint64_t pool, size_t n_bytes, uint32_t flags, void *ret)
{
	struct clv_charge charge;

	if (!charge_pool(pool, n_bytes, &charge))
		return CLV_HSA_OUT_OF_RESOURCES;
	return record_allocation(&charge, ret, real(pool, n_bytes, flags, ret));
}

int clv_own_hsa_memory_allocate(
	clv_fn_hsa_memory_allocate *real, uint64_t region, size_t n_bytes, void *ret)
{
	struct clv_charge charge;

	if (!charge_pool(region, n_bytes, &charge))
		return CLV_HSA_OUT_OF_RESOURCES;
	return record_allocation(&charge, ret, real(region, n_bytes, ret));
}

int clv_own_hsa_amd_memory_pool_free(clv_fn_hsa_amd_memory_pool_free *real, void *p)
{
	struct clv_charge withdrawn = clv_charge_withdraw(p);

	return record_free(withdrawn, p, real(p));
}

int clv_own_hsa_memory_free(clv_fn_hsa_memory_free *real, void *p)
{
	struct clv_charge withdrawn = clv_charge_withdraw(p);

	return record_free(withdrawn, p, real(p));
}

/* Memory of another API, which no gate may have charged.  Its size is known only after
 * the call. */
int clv_own_hsa_amd_interop_map_buffer(clv_fn_hsa_amd_interop_map_buffer *real,
	uint32_t n_agents, void *agents, int fd, uint32_t flags, void *ret_bytes,
	void *ret, void *ret_metadata_bytes, void *ret_metadata)
{
	struct clv_charge charge;
	int r = real(n_agents, agents, fd, flags, ret_bytes, ret, ret_metadata_bytes,
		ret_metadata);

	if (r != CLV_HSA_SUCCESS)
		return r;
	if (charge_bytes(*(size_t *)ret_bytes, &charge))
		return record_allocation(&charge, ret, r);
	clv_hsa.hsa_amd_interop_unmap_buffer(*(void **)ret);
	return CLV_HSA_OUT_OF_RESOURCES;
}

int clv_own_hsa_amd_interop_unmap_buffer(
	clv_fn_hsa_amd_interop_unmap_buffer *real, void *p)
{
	struct clv_charge withdrawn = clv_charge_withdraw(p);

	return record_free(withdrawn, p, real(p));
}

/* Physical memory that is mapped by hand. */

int clv_own_hsa_amd_vmem_handle_create(clv_fn_hsa_amd_vmem_handle_create *real,
	uint64_t pool, size_t n_bytes, int type, uint64_t flags, void *ret)
{
	struct clv_charge charge;
	int r;

	if (!charge_pool(pool, n_bytes, &charge))
		return CLV_HSA_OUT_OF_RESOURCES;
	r = real(pool, n_bytes, type, flags, ret);
	if (r == CLV_HSA_SUCCESS)
		clv_piece_add(*(uint64_t *)ret, &charge);
	else
		clv_charge_undo(&charge);
	return r;
}

int clv_own_hsa_amd_vmem_handle_release(
	clv_fn_hsa_amd_vmem_handle_release *real, uint64_t handle)
{
	int r;

	clv_pieces_lock();
	r = real(handle);
	if (r == CLV_HSA_SUCCESS)
		clv_piece_release(handle);
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_vmem_retain_alloc_handle(
	clv_fn_hsa_amd_vmem_retain_alloc_handle *real, void *ret, void *p)
{
	int r;

	clv_pieces_lock();
	r = real(ret, p);
	if (r == CLV_HSA_SUCCESS)
		clv_piece_retain(*(uint64_t *)ret);
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_vmem_export_shareable_handle(
	clv_fn_hsa_amd_vmem_export_shareable_handle *real, void *ret_fd, uint64_t handle,
	uint64_t flags)
{
	int r;

	clv_pieces_lock();
	r = real(ret_fd, handle, flags);
	if (r == CLV_HSA_SUCCESS && !clv_piece_exported(handle, *(int *)ret_fd)) {
		close(*(int *)ret_fd);
		r = CLV_HSA_OUT_OF_RESOURCES;
	}
	clv_pieces_unlock();
	return r;
}

/* Under the lock.  Memory of the host is not charged. */
static int record_dmabuf(const void *p, int *ret_fd, int result)
{
	if (result == CLV_HSA_SUCCESS && clv_piece_range_exported((uint64_t)(uintptr_t)p,
						 *ret_fd) == CLV_RANGE_REFUSED) {
		close(*ret_fd);
		result = CLV_HSA_OUT_OF_RESOURCES;
	}
	return result;
}

int clv_own_hsa_amd_portable_export_dmabuf(clv_fn_hsa_amd_portable_export_dmabuf *real,
	void *p, size_t n_bytes, void *ret_fd, void *ret_offset)
{
	int r;

	clv_pieces_lock();
	r = record_dmabuf(p, ret_fd, real(p, n_bytes, ret_fd, ret_offset));
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_portable_export_dmabuf_v2(
	clv_fn_hsa_amd_portable_export_dmabuf_v2 *real, void *p, size_t n_bytes,
	void *ret_fd, void *ret_offset, uint64_t flags)
{
	int r;

	clv_pieces_lock();
	r = record_dmabuf(p, ret_fd, real(p, n_bytes, ret_fd, ret_offset, flags));
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_vmem_import_shareable_handle(
	clv_fn_hsa_amd_vmem_import_shareable_handle *real, int fd, void *ret)
{
	int r;

	clv_pieces_lock();
	r = real(fd, ret);
	if (r == CLV_HSA_SUCCESS && !clv_piece_imported(*(uint64_t *)ret, fd)) {
		clv_hsa.hsa_amd_vmem_handle_release(*(uint64_t *)ret);
		r = CLV_HSA_OUT_OF_RESOURCES;
	}
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_vmem_map(clv_fn_hsa_amd_vmem_map *real, void *p, size_t n_bytes,
	size_t offset, uint64_t handle, uint64_t flags)
{
	struct clv_charge charge = {0};
	struct clv_mapping *mapping;
	int r;

	if (!clv_piece_is_known(handle) && !charge_bytes(n_bytes, &charge))
		return CLV_HSA_OUT_OF_RESOURCES;
	mapping = clv_mapping_new((uint64_t)(uintptr_t)p, n_bytes, &charge);
	if (!mapping)
		return CLV_HSA_OUT_OF_RESOURCES;
	clv_pieces_lock();
	r = real(p, n_bytes, offset, handle, flags);
	clv_mapping_done(mapping, handle, r == CLV_HSA_SUCCESS);
	clv_pieces_unlock();
	return r;
}

int clv_own_hsa_amd_vmem_unmap(clv_fn_hsa_amd_vmem_unmap *real, void *p, size_t n_bytes)
{
	int r;

	clv_pieces_lock();
	r = real(p, n_bytes);
	if (r == CLV_HSA_SUCCESS)
		clv_mappings_forget((uint64_t)(uintptr_t)p, n_bytes);
	clv_pieces_unlock();
	return r;
}
