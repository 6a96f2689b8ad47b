/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "hsa.h"

/* The functions of ROCr that exist. generate.py reads this: a parameter has a name, and
 * the file of faults can make a function that returns int fail. */

#pragma GCC visibility push(default)

int hsa_init(void);
int hsa_shut_down(void);
int hsa_status_string(int status, const char **ret);
int hsa_iterate_agents(hsa_visit visit, void *user);
int hsa_agent_get_info(hsa_agent agent, int what, void *ret);
int hsa_agent_iterate_isas(hsa_agent agent, hsa_visit visit, void *user);
int hsa_isa_get_info_alt(hsa_handle isa, int what, void *ret);
int hsa_agent_iterate_regions(hsa_agent agent, hsa_visit visit, void *user);
int hsa_region_get_info(hsa_handle region, int what, void *ret);

int hsa_memory_allocate(hsa_handle region, size_t bytes, void **ret);
int hsa_memory_free(void *p);
int hsa_memory_copy(void *dst, const void *src, size_t bytes);

int hsa_amd_agent_iterate_memory_pools(hsa_agent agent, hsa_visit visit, void *user);
int hsa_amd_memory_pool_get_info(hsa_pool pool, int what, void *ret);
int hsa_amd_portable_export_dmabuf(
	const void *p, size_t bytes, int *ret_fd, uint64_t *ret_offset);
int hsa_amd_memory_pool_allocate(hsa_pool pool, size_t bytes, uint32_t flags, void **ret);
/* Of no version: what a program finds that is newer than the gate. */
int hsa_amd_memory_pool_allocate_later(
	hsa_pool pool, size_t bytes, uint32_t flags, void **ret);
int hsa_amd_memory_pool_free(void *p);
int hsa_amd_agents_allow_access(
	uint32_t n, const hsa_agent *agents, const uint32_t *flags, const void *p);
int hsa_amd_memory_fill(void *p, uint32_t value, size_t count);
int hsa_amd_memory_async_copy(void *dst, hsa_agent dst_agent, const void *src,
	hsa_agent src_agent, size_t bytes, uint32_t n_deps, const hsa_signal *deps,
	hsa_signal completion);
int hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent dst_agent, const void *src,
	hsa_agent src_agent, size_t bytes, uint32_t n_deps, const hsa_signal *deps,
	hsa_signal completion, int engine, bool force);
int hsa_amd_memory_copy_engine_status(hsa_agent dst, hsa_agent src, uint32_t *ret);
int hsa_amd_memory_async_copy_rect(const struct hsa_pitched *dst,
	const struct hsa_dim3 *dst_offset, const struct hsa_pitched *src,
	const struct hsa_dim3 *src_offset, const struct hsa_dim3 *range, hsa_agent agent,
	int direction, uint32_t n_deps, const hsa_signal *deps, hsa_signal completion);
int hsa_amd_memory_lock(void *host, size_t bytes, hsa_agent *agents, int n, void **ret);
int hsa_amd_memory_unlock(void *host);
int hsa_amd_pointer_info(const void *p, struct hsa_pointer_info *ret, void *alloc,
	uint32_t *n_accessible, hsa_agent **accessible);
int hsa_amd_ipc_memory_create(void *p, size_t bytes, struct hsa_ipc *ret);
int hsa_amd_ipc_memory_attach(const struct hsa_ipc *handle, size_t bytes, uint32_t n,
	const hsa_agent *agents, void **ret);
int hsa_amd_ipc_memory_detach(void *p);
int hsa_amd_svm_prefetch_async(void *p, size_t bytes, hsa_agent agent, uint32_t n_deps,
	const hsa_signal *deps, hsa_signal completion);

int hsa_amd_vmem_address_reserve(
	void **ret, size_t bytes, uint64_t address, uint64_t flags);
int hsa_amd_vmem_address_reserve_align(
	void **ret, size_t bytes, uint64_t address, uint64_t alignment, uint64_t flags);
int hsa_amd_vmem_address_free(void *p, size_t bytes);
int hsa_amd_vmem_handle_create(
	hsa_pool pool, size_t bytes, int type, uint64_t flags, hsa_handle *ret);
int hsa_amd_vmem_handle_release(hsa_handle handle);
int hsa_amd_vmem_map(
	void *p, size_t bytes, size_t offset, hsa_handle handle, uint64_t flags);
int hsa_amd_vmem_unmap(void *p, size_t bytes);
int hsa_amd_vmem_set_access(
	void *p, size_t bytes, const struct hsa_access *access, size_t n);
int hsa_amd_vmem_get_access(void *p, uint32_t *ret, hsa_agent agent);
int hsa_amd_vmem_export_shareable_handle(int *ret_fd, hsa_handle handle, uint64_t flags);
int hsa_amd_vmem_import_shareable_handle(int fd, hsa_handle *ret);
int hsa_amd_vmem_retain_alloc_handle(hsa_handle *ret, void *p);

int hsa_signal_create(
	int64_t value, uint32_t n, const hsa_agent *consumers, hsa_signal *ret);
int hsa_amd_signal_create(int64_t value, uint32_t n, const hsa_agent *consumers,
	uint64_t attributes, hsa_signal *ret);
int hsa_signal_destroy(hsa_signal signal);
int hsa_amd_signal_value_pointer(hsa_signal signal, volatile int64_t **ret);
int hsa_amd_signal_async_handler(
	hsa_signal signal, int condition, int64_t value, hsa_signal_fn fn, void *user);
int hsa_amd_async_function(hsa_fn fn, void *user);
uint32_t hsa_amd_signal_wait_any(uint32_t n, hsa_signal *signals, int *conditions,
	int64_t *values, uint64_t timeout, int state, int64_t *ret);

int hsa_queue_create(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error error,
	void *user, uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **ret);
int hsa_queue_destroy(struct hsa_queue *queue);
int hsa_amd_queue_cu_set_mask(
	const struct hsa_queue *queue, uint32_t bits, const uint32_t *mask);
int hsa_amd_queue_cu_get_mask(
	const struct hsa_queue *queue, uint32_t bits, uint32_t *ret);
int hsa_amd_queue_set_priority(struct hsa_queue *queue, int priority);
int hsa_amd_profiling_set_profiler_enabled(struct hsa_queue *queue, int enable);
int hsa_amd_profiling_get_dispatch_time(
	hsa_agent agent, hsa_signal signal, struct hsa_time *ret);

int hsa_code_object_reader_create_from_memory(
	const void *code, size_t bytes, hsa_handle *ret);
int hsa_code_object_reader_destroy(hsa_handle reader);
int hsa_executable_create_alt(
	int profile, int rounding, const char *options, hsa_handle *ret);
int hsa_executable_destroy(hsa_handle executable);
int hsa_executable_load_agent_code_object(hsa_handle executable, hsa_agent agent,
	hsa_handle reader, const char *options, hsa_handle *ret);
int hsa_executable_freeze(hsa_handle executable, const char *options);
int hsa_executable_get_symbol_by_name(
	hsa_handle executable, const char *name, const hsa_agent *agent, hsa_handle *ret);
int hsa_executable_symbol_get_info(hsa_handle symbol, int what, void *ret);

/* A variant for each memory order; here they are the same. */
int64_t hsa_signal_load_relaxed(hsa_signal signal);
int64_t hsa_signal_load_acquire(hsa_signal signal);
int64_t hsa_signal_load_scacquire(hsa_signal signal);
void hsa_signal_store_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_store_release(hsa_signal signal, int64_t value);
void hsa_signal_store_screlease(hsa_signal signal, int64_t value);
void hsa_signal_silent_store_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_add_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_add_acquire(hsa_signal signal, int64_t value);
void hsa_signal_add_release(hsa_signal signal, int64_t value);
void hsa_signal_add_acq_rel(hsa_signal signal, int64_t value);
void hsa_signal_add_scacquire(hsa_signal signal, int64_t value);
void hsa_signal_add_screlease(hsa_signal signal, int64_t value);
void hsa_signal_add_scacq_screl(hsa_signal signal, int64_t value);
void hsa_signal_subtract_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_subtract_acquire(hsa_signal signal, int64_t value);
void hsa_signal_subtract_release(hsa_signal signal, int64_t value);
void hsa_signal_subtract_acq_rel(hsa_signal signal, int64_t value);
void hsa_signal_subtract_scacquire(hsa_signal signal, int64_t value);
void hsa_signal_subtract_screlease(hsa_signal signal, int64_t value);
void hsa_signal_subtract_scacq_screl(hsa_signal signal, int64_t value);
void hsa_signal_and_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_and_acquire(hsa_signal signal, int64_t value);
void hsa_signal_and_release(hsa_signal signal, int64_t value);
void hsa_signal_and_acq_rel(hsa_signal signal, int64_t value);
void hsa_signal_and_scacquire(hsa_signal signal, int64_t value);
void hsa_signal_and_screlease(hsa_signal signal, int64_t value);
void hsa_signal_and_scacq_screl(hsa_signal signal, int64_t value);
void hsa_signal_or_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_or_acquire(hsa_signal signal, int64_t value);
void hsa_signal_or_release(hsa_signal signal, int64_t value);
void hsa_signal_or_acq_rel(hsa_signal signal, int64_t value);
void hsa_signal_or_scacquire(hsa_signal signal, int64_t value);
void hsa_signal_or_screlease(hsa_signal signal, int64_t value);
void hsa_signal_or_scacq_screl(hsa_signal signal, int64_t value);
void hsa_signal_xor_relaxed(hsa_signal signal, int64_t value);
void hsa_signal_xor_acquire(hsa_signal signal, int64_t value);
void hsa_signal_xor_release(hsa_signal signal, int64_t value);
void hsa_signal_xor_acq_rel(hsa_signal signal, int64_t value);
void hsa_signal_xor_scacquire(hsa_signal signal, int64_t value);
void hsa_signal_xor_screlease(hsa_signal signal, int64_t value);
void hsa_signal_xor_scacq_screl(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_relaxed(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_acquire(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_release(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_acq_rel(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_scacquire(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_screlease(hsa_signal signal, int64_t value);
int64_t hsa_signal_exchange_scacq_screl(hsa_signal signal, int64_t value);
int64_t hsa_signal_cas_relaxed(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_acquire(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_release(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_acq_rel(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_scacquire(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_screlease(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_cas_scacq_screl(hsa_signal signal, int64_t expected, int64_t value);
int64_t hsa_signal_wait_relaxed(
	hsa_signal signal, int condition, int64_t value, uint64_t timeout, int state);
int64_t hsa_signal_wait_acquire(
	hsa_signal signal, int condition, int64_t value, uint64_t timeout, int state);
int64_t hsa_signal_wait_scacquire(
	hsa_signal signal, int condition, int64_t value, uint64_t timeout, int state);
uint64_t hsa_queue_load_read_index_relaxed(const struct hsa_queue *queue);
uint64_t hsa_queue_load_read_index_acquire(const struct hsa_queue *queue);
uint64_t hsa_queue_load_read_index_scacquire(const struct hsa_queue *queue);
void hsa_queue_store_read_index_relaxed(const struct hsa_queue *queue, uint64_t value);
void hsa_queue_store_read_index_release(const struct hsa_queue *queue, uint64_t value);
void hsa_queue_store_read_index_screlease(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_load_write_index_relaxed(const struct hsa_queue *queue);
uint64_t hsa_queue_load_write_index_acquire(const struct hsa_queue *queue);
uint64_t hsa_queue_load_write_index_scacquire(const struct hsa_queue *queue);
void hsa_queue_store_write_index_relaxed(const struct hsa_queue *queue, uint64_t value);
void hsa_queue_store_write_index_release(const struct hsa_queue *queue, uint64_t value);
void hsa_queue_store_write_index_screlease(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_relaxed(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_acquire(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_release(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_acq_rel(const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_scacquire(
	const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_screlease(
	const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_add_write_index_scacq_screl(
	const struct hsa_queue *queue, uint64_t value);
uint64_t hsa_queue_cas_write_index_relaxed(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_acquire(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_release(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_acq_rel(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_scacquire(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_screlease(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);
uint64_t hsa_queue_cas_write_index_scacq_screl(
	const struct hsa_queue *queue, uint64_t expected, uint64_t value);

#pragma GCC visibility pop
