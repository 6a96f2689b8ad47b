/* SPDX-License-Identifier: Apache-2.0 */
#include "arbiter/preempt.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

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
	process->slot = slot;
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

void clv_preempt_forget(struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (!process)
		return;
	clv_rm_channels_free(process->channels);
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

static bool is_known(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	const struct clv_preempt_process *process = find(lease, slot);

	return process && clv_rm_channels_has_groups(process->channels);
}

bool clv_preempt_can(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);

	if (arbiter->method == CLV_RM_BY_NOTHING || lease->n_preempt == 0)
		return false;
	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (has_work(lease, slot) && !is_known(lease, slot))
			return false;
	}
	return true;
}

bool clv_preempt_could(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);

	if (arbiter->method == CLV_RM_BY_NOTHING || lease->n_preempt == 0)
		return false;
	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (is_open(lease, slot) && !is_known(lease, slot) &&
			atomic_load(&lease->pages.report->slots[slot].entered) > 0)
			return false;
	}
	return true;
}

static bool switch_off(struct clv_arbiter *arbiter, struct clv_preempt_process *process)
{
	uint32_t status =
		clv_rm_channels_switch(process->channels, arbiter->method, false);

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
	for (size_t i = 0; i < lease->n_preempt; i++) {
		struct clv_preempt_process *process = &lease->preempt[i];

		if (!has_work(lease, process->slot) || switch_off(arbiter, process))
			continue;
		clv_preempt_go(arbiter, lease);
		return false;
	}
	lease->is_stopped = true;
	return true;
}

bool clv_preempt_is_off(const struct clv_arbiter_lease *lease)
{
	for (size_t i = 0; i < lease->n_preempt; i++) {
		if (lease->preempt[i].off_by != CLV_RM_BY_NOTHING)
			return true;
	}
	return false;
}

/* A driver that refuses is asked again, for they would never run. */
void clv_preempt_go(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	lease->is_stopped = false;
	for (size_t i = 0; i < lease->n_preempt; i++) {
		struct clv_preempt_process *process = &lease->preempt[i];
		uint32_t status =
			clv_rm_channels_switch(process->channels, process->off_by, true);

		if (status == 0) {
			process->off_by = CLV_RM_BY_NOTHING;
		} else {
			/* That is no chance. */
			arbiter->refusal = status;
			arbiter->n_refusals = CLV_PREEMPT_REFUSALS;
		}
	}
}
