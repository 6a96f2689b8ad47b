/* SPDX-License-Identifier: Apache-2.0 */
#include "arbiter/preempt.h"

#include "arbiter/threads.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>
#include <stdlib.h>

/* A signal is delivered, and a thread in its handler, by then. */
#define VERIFY_FIRST_NS (4 * CLV_NS_PER_MS)
#define VERIFY_NS (16 * CLV_NS_PER_MS)

static struct clv_preempt_process *find(
	const struct clv_arbiter_lease *lease, uint32_t slot)
{
	for (size_t i = 0; i < lease->n_preempt; i++) {
		if (lease->preempt[i].slot == slot)
			return &lease->preempt[i];
	}
	return NULL;
}

static struct clv_preempt_process *find_or_add(
	struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (process)
		return process;
	process = CLV_APPEND(lease->preempt, lease->n_preempt);
	if (!process)
		return NULL;
	*process = (struct clv_preempt_process){.slot = slot};
	process->channels = clv_rm_channels_new(true);
	if (process->channels)
		return process;
	lease->n_preempt--;
	return NULL;
}

int clv_preempt_note(struct clv_arbiter_lease *lease, uint32_t slot, int fd,
	const struct clv_rm_object *object)
{
	struct clv_preempt_process *process = find_or_add(lease, slot);
	int r = process ? clv_rm_channels_note(process->channels, fd, object) : -ENOMEM;

	/* What is new is off as well. */
	if (r == 0 && lease->is_stopped && process->off_by != CLV_RM_BY_NOTHING)
		clv_rm_channels_switch(process->channels, process->off_by, false);
	return r;
}

int clv_preempt_note_threads(struct clv_arbiter_lease *lease, uint32_t slot, pid_t pid,
	const int32_t *tids, uint32_t n)
{
	struct clv_preempt_process *process = find_or_add(lease, slot);
	struct clv_threads *threads = process ? clv_threads_new(pid, tids, n) : NULL;

	if (!threads)
		return -ENOMEM;
	clv_threads_free(process->threads);
	process->threads = threads;
	return 0;
}

void clv_preempt_forget(struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (!process)
		return;
	clv_rm_channels_free(process->channels);
	clv_threads_free(process->threads);
	*process = lease->preempt[--lease->n_preempt];
}

void clv_preempt_forget_all(struct clv_arbiter_lease *lease)
{
	while (lease->n_preempt > 0)
		clv_preempt_forget(lease, lease->preempt[0].slot);
	free(lease->preempt);
	lease->preempt = NULL;
}

static bool is_open(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return lease->open_slots[slot / 64] >> (slot % 64) & 1;
}

static bool has_work(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	const struct clv_slot *s = &lease->pages.report->slots[slot];
	uint64_t done = atomic_load(&s->done);

	return is_open(lease, slot) && atomic_load(&s->entered) > done;
}

static bool halts_threads(const struct clv_arbiter *arbiter)
{
	return arbiter->halting != CLV_HALTING_NEVER;
}

static bool is_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t slot)
{
	const struct clv_preempt_process *process = find(lease, slot);

	if (process && halts_threads(arbiter))
		return process->threads && clv_threads_obey(process->threads);
	return process && clv_rm_channels_has_groups(process->channels);
}

static bool has_means(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	bool halts = arbiter->halting == CLV_HALTING_ALWAYS ||
		     (arbiter->halting == CLV_HALTING_OVERDUE && lease->is_overdue);

	return (arbiter->method != CLV_RM_BY_NOTHING || halts) && lease->n_preempt > 0;
}

bool clv_preempt_can(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);

	if (!has_means(arbiter, lease))
		return false;
	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (has_work(lease, slot) && !is_known(arbiter, lease, slot))
			return false;
	}
	return true;
}

bool clv_preempt_could(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);

	if (!has_means(arbiter, lease))
		return false;
	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (is_open(lease, slot) && !is_known(arbiter, lease, slot) &&
			atomic_load(&lease->pages.report->slots[slot].entered) > 0)
			return false;
	}
	return true;
}

static bool set_halted(const struct clv_arbiter_lease *lease, bool is_halted)
{
	_Atomic uint32_t *word = &lease->pages.control->is_halted;

	if (atomic_exchange(word, is_halted) == is_halted)
		return false;
	if (!is_halted)
		clv_futex_wake(word, INT_MAX);
	return true;
}

static bool switch_off(struct clv_arbiter *arbiter, struct clv_preempt_process *process)
{
	uint32_t status;

	if (halts_threads(arbiter))
		return clv_threads_halt(process->threads);
	status = clv_rm_channels_switch(process->channels, arbiter->method, false);
	process->off_by = arbiter->method;
	if (status == 0) {
		arbiter->n_refusals = 0;
		return true;
	}
	arbiter->refusal = status;
	arbiter->n_refusals++;
	return false;
}

bool clv_preempt_stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	if (!clv_preempt_can(arbiter, lease))
		return false;
	if (halts_threads(arbiter))
		set_halted(lease, true);
	for (size_t i = 0; i < lease->n_preempt; i++) {
		struct clv_preempt_process *process = &lease->preempt[i];

		if (!has_work(lease, process->slot) || switch_off(arbiter, process))
			continue;
		clv_preempt_go(arbiter, lease);
		return false;
	}
	lease->is_stopped = true;
	lease->stopped_at_ns = clv_clock_ns();
	lease->verify_at_ns = lease->stopped_at_ns + VERIFY_FIRST_NS;
	return true;
}

/* Returns whether it stands still, as far as is known. */
static bool verify(const struct clv_arbiter_lease *lease,
	struct clv_preempt_process *process, uint64_t now_ns)
{
	if (!process->threads || !has_work(lease, process->slot))
		return true;
	if (!clv_threads_are_halted(process->threads))
		return clv_threads_halt(process->threads);
	return clv_threads_verify(process->threads, now_ns);
}

bool clv_preempt_verify(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	bool is_still = true;

	if (!halts_threads(arbiter) || !lease->is_stopped || now_ns < lease->verify_at_ns)
		return true;
	lease->verify_at_ns = now_ns + VERIFY_NS;
	for (size_t i = 0; i < lease->n_preempt; i++)
		is_still &= verify(lease, &lease->preempt[i], now_ns);
	return is_still;
}

void clv_preempt_halt_again(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	if (!halts_threads(arbiter) || !lease->is_stopped)
		return;
	for (size_t i = 0; i < lease->n_preempt; i++) {
		struct clv_threads *threads = lease->preempt[i].threads;

		if (threads && clv_threads_are_halted(threads))
			clv_threads_halt(threads);
	}
}

bool clv_preempt_is_off(const struct clv_arbiter_lease *lease)
{
	for (size_t i = 0; i < lease->n_preempt; i++) {
		if (lease->preempt[i].off_by != CLV_RM_BY_NOTHING)
			return true;
	}
	return lease->is_stopped && atomic_load(&lease->pages.control->is_halted);
}

/* A driver that refuses is asked again, for they would never run. */
void clv_preempt_go(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	lease->is_stopped = false;
	set_halted(lease, false);
	for (size_t i = 0; i < lease->n_preempt; i++) {
		struct clv_preempt_process *process = &lease->preempt[i];
		uint32_t status;

		if (process->threads)
			clv_threads_go(process->threads);
		status = clv_rm_channels_switch(process->channels, process->off_by, true);

		if (status == 0) {
			process->off_by = CLV_RM_BY_NOTHING;
		} else {
			/* That is no chance. */
			arbiter->refusal = status;
			arbiter->n_refusals = CLV_PREEMPT_REFUSALS;
		}
	}
}
