/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <string.h>

/* Copies outside of queues: between host and device on the engines, within the device in
 * its group's time. Each goes through an idle slot, if there is one, so that copies do
 * not wait for each other's signals. */

static bool is_idle(int slot)
{
	return atomic_load(&dgp_area->slots[slot].done) == dgp_slot_tail(slot);
}

static int open_slot(struct agent *agent, struct copier *copier)
{
	uint32_t context = agent->context;
	int slot = copier->n < COPY_SLOTS ? dgp_slot_open(context, 0, 0) : -1;

	if (slot >= 0)
		copier->slots[copier->n++] = slot;
	return slot;
}

static int choose_slot(struct agent *agent, int how)
{
	struct copier *copier = &agent->copiers[how];
	int slot;

	for (int i = 0; i < copier->n; i++)
		if (is_idle(copier->slots[i]))
			return copier->slots[i];
	slot = open_slot(agent, copier);
	if (slot >= 0 || !copier->n)
		return slot;
	copier->last = (copier->last + 1) % copier->n;
	return copier->slots[copier->last];
}

int dhs_push_deps(int slot, uint32_t n, const hsa_signal *deps)
{
	for (uint32_t i = 0; i < n; i += DGP_DEPS) {
		struct dgp_cmd cmd = {.kind = DGP_BARRIER, .mask = UINT64_MAX};

		for (uint32_t k = 0; k < DGP_DEPS && i + k < n; k++)
			cmd.signals[k] = dhs_signal_number(deps[i + k]) + 1;
		if (dgp_push(slot, NULL, &cmd, NULL))
			return HSA_ERROR;
	}
	return 0;
}

static int check_signals(const struct copy *copy)
{
	for (uint32_t i = 0; i < copy->n_deps; i++)
		if (dhs_signal_number(copy->deps[i]) == NO_SIGNAL)
			return HSA_INVALID_SIGNAL;
	if (copy->completion && dhs_signal_number(copy->completion) == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	return 0;
}

static int push(const struct copy *copy, int slot)
{
	bool is_within = copy->how == DGP_COPY_ENGINES;
	uint64_t speed = is_within ? dgp_hello.device_mb_s : dgp_hello.host_mb_s;
	uint32_t completion =
		copy->completion ? dhs_signal_number(copy->completion) : NO_SIGNAL;
	struct dgp_cmd cmd = {.kind = is_within ? DGP_KERNEL : DGP_COPY,
		.engine = is_within ? 0 : (uint16_t)copy->how,
		.name = dgp_name("[copy]"),
		.ns = copy->bytes * 1000 / speed,
		.effect = (uint64_t)(uintptr_t)copy->effect,
		.completion = completion + 1};
	uint64_t seq = 0;
	int r = dhs_push_deps(slot, copy->n_deps, copy->deps);

	if (!r && dgp_push(slot, NULL, &cmd, &seq))
		r = HSA_ERROR;
	if (!r && copy->completion)
		dhs_signal_promise(completion, slot, seq);
	return r;
}

int dhs_copy(const struct copy *copy)
{
	int slot = -1, r = check_signals(copy);

	if (r || !dhs_context(copy->agent)) {
		dgp_effect_free(copy->effect);
		return r ? r : HSA_OUT_OF_RESOURCES;
	}
	pthread_mutex_lock(&copy->agent->lock);
	slot = choose_slot(copy->agent, copy->how);
	r = slot < 0 ? HSA_OUT_OF_RESOURCES : push(copy, slot);
	pthread_mutex_unlock(&copy->agent->lock);
	if (slot < 0)
		dgp_effect_free(copy->effect);
	return r;
}

/* Chooses the GPU whose engine copies, and the direction. */
static void choose_engine(
	struct copy *copy, struct agent *dst_agent, struct agent *src_agent)
{
	bool to_gpu = dst_agent->kind == HSA_DEVICE_GPU;
	bool from_gpu = src_agent->kind == HSA_DEVICE_GPU;

	copy->agent = from_gpu ? src_agent : dst_agent;
	copy->how = from_gpu ? DGP_TO_HOST : DGP_TO_DEVICE;
	if (from_gpu && to_gpu && src_agent == dst_agent)
		copy->how = DGP_COPY_ENGINES;
	if (!from_gpu && !to_gpu)
		copy->agent = &dhs_agents[dhs_n_agents > 1];
}

int dhs_hsa_amd_memory_async_copy(void *dst, hsa_agent dst_handle, const void *src,
	hsa_agent src_handle, size_t bytes, uint32_t n_deps, const hsa_signal *deps,
	hsa_signal completion)
{
	struct agent *dst_agent = dhs_agent(dst_handle),
		     *src_agent = dhs_agent(src_handle);
	struct copy copy = {
		.bytes = bytes, .n_deps = n_deps, .deps = deps, .completion = completion};

	if (!dst_agent || !src_agent)
		return HSA_INVALID_AGENT;
	if (!dst || !src || (n_deps && !deps))
		return HSA_INVALID_ARGUMENT;
	choose_engine(&copy, dst_agent, src_agent);
	copy.effect = dgp_effect_copy(dst, src, bytes);
	return dhs_copy(&copy);
}

int dhs_hsa_amd_memory_async_copy_on_engine(void *dst, hsa_agent dst_agent,
	const void *src, hsa_agent src_agent, size_t bytes, uint32_t n_deps,
	const hsa_signal *deps, hsa_signal completion, int engine, bool force)
{
	return dhs_hsa_amd_memory_async_copy(
		dst, dst_agent, src, src_agent, bytes, n_deps, deps, completion);
}

int dhs_hsa_amd_memory_copy_engine_status(hsa_agent dst, hsa_agent src, uint32_t *ret)
{
	return dhs_give_u32(ret, 3);
}

static void place(const struct hsa_pitched *at, const struct hsa_dim3 *offset, char **ret,
	size_t *pitch, size_t *slice)
{
	*ret = (char *)at->base + offset->x + offset->y * at->pitch +
	       offset->z * at->slice;
	*pitch = at->pitch;
	*slice = at->slice;
}

int dhs_hsa_amd_memory_async_copy_rect(const struct hsa_pitched *dst,
	const struct hsa_dim3 *dst_offset, const struct hsa_pitched *src,
	const struct hsa_dim3 *src_offset, const struct hsa_dim3 *range, hsa_agent handle,
	int direction, uint32_t n_deps, const hsa_signal *deps, hsa_signal completion)
{
	static const int how[] = {
		DGP_TO_HOST, DGP_TO_DEVICE, DGP_TO_HOST, DGP_COPY_ENGINES};
	struct copy copy = {.agent = dhs_agent(handle),
		.n_deps = n_deps,
		.deps = deps,
		.completion = completion};
	struct effect *e;
	char *from;

	if (!copy.agent || copy.agent->kind != HSA_DEVICE_GPU)
		return HSA_INVALID_AGENT;
	if (!dst || !src || !range || direction < 0 || direction > 3)
		return HSA_INVALID_ARGUMENT;
	e = dgp_effect_new();
	e->width = range->x;
	e->height = range->y;
	e->depth = range->z;
	place(dst, dst_offset, &e->dst, &e->dst_pitch, &e->dst_slice);
	place(src, src_offset, &from, &e->src_pitch, &e->src_slice);
	e->src = from;
	copy.effect = e;
	copy.bytes = e->width * e->height * e->depth;
	copy.how = how[direction];
	return dhs_copy(&copy);
}

/* --- Copies that block the caller --- */

static hsa_agent owner_of(const void *p)
{
	struct block block;

	return dhs_handle(dhs_block_find(p, &block) ? block.pool->agent : &dhs_agents[0]);
}

int dhs_hsa_memory_copy(void *dst, const void *src, size_t bytes)
{
	hsa_signal done;
	int r;

	if (!bytes)
		return 0;
	if (!dst || !src)
		return HSA_INVALID_ARGUMENT;
	done = dhs_signal_new(1);
	r = dhs_hsa_amd_memory_async_copy(
		dst, owner_of(dst), src, owner_of(src), bytes, 0, NULL, done);
	if (!r)
		hsa_signal_wait_relaxed(done, HSA_LT, 1, UINT64_MAX, 0);
	dhs_hsa_signal_destroy(done);
	return r;
}

int dhs_hsa_amd_memory_fill(void *p, uint32_t value, size_t count)
{
	struct copy copy = {.how = DGP_COPY_ENGINES, .bytes = count * 4};
	struct block block;
	int r;

	if (!count)
		return 0;
	if (!p || !dhs_block_find(p, &block))
		return HSA_INVALID_ARGUMENT;
	copy.agent = block.pool->agent;
	copy.effect = dgp_effect_fill(p, value, 4, count);
	if (copy.agent->kind != HSA_DEVICE_GPU) {
		dgp_effect_do(copy.effect);
		dgp_effect_free(copy.effect);
		return 0;
	}
	copy.completion = dhs_signal_new(1);
	r = dhs_copy(&copy);
	if (!r)
		hsa_signal_wait_relaxed(copy.completion, HSA_LT, 1, UINT64_MAX, 0);
	dhs_hsa_signal_destroy(copy.completion);
	return r;
}

int dhs_hsa_amd_svm_prefetch_async(void *p, size_t bytes, hsa_agent agent,
	uint32_t n_deps, const hsa_signal *deps, hsa_signal completion)
{
	struct copy copy = {.agent = &dhs_agents[dhs_n_agents > 1],
		.how = DGP_TO_DEVICE,
		.n_deps = n_deps,
		.deps = deps,
		.completion = completion};

	return dhs_agent(agent) ? dhs_copy(&copy) : HSA_INVALID_AGENT;
}
