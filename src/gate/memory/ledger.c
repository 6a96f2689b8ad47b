/* SPDX-License-Identifier: Apache-2.0 */
/* The memory quota.  A process adds to its own slot and then sums all slots of the lease,
 * so of two that race both may be refused, but never are both admitted over the quota.
 * There is no lock, and no total that a death could leave wrong. */
#include "gate/memory/ledger.h"

#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"

/* The limit of one kind of memory, and what this process has charged of it. */
struct budget {
	uint64_t limit_bytes;
	_Atomic uint64_t *own_bytes;
	uint64_t (*sum)(const struct clv_view *view); /* over all the lease's processes */
};

uint32_t clv_ledger_epoch(void)
{
	return atomic_load_explicit(&clv_wiped_on_fork->epoch, memory_order_relaxed);
}

static uint32_t count_slots(const struct clv_view *view)
{
	uint32_t n = atomic_load(&view->control->slots_used);

	return n < CLV_SLOTS ? n : CLV_SLOTS;
}

/* With the overhead that only the driver shows. */
static uint64_t sum_slots(const struct clv_view *view)
{
	uint64_t sum = atomic_load(&view->control->memory_overhead_bytes);

	for (uint32_t i = 0; i < count_slots(view); i++)
		sum += atomic_load(&view->report->slots[i].memory_bytes);
	return sum;
}

static uint64_t sum_spilled(const struct clv_view *view)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count_slots(view); i++)
		sum += atomic_load(&view->report->spilled_bytes[i]);
	return sum;
}

static bool try_charge(const struct clv_view *view, const struct budget *budget,
	uint64_t n_bytes, uint64_t *ret_sum)
{
	if (n_bytes > budget->limit_bytes)
		return false;
	atomic_fetch_add(budget->own_bytes, n_bytes);
	*ret_sum = budget->sum(view);
	if (*ret_sum <= budget->limit_bytes)
		return true;
	atomic_fetch_sub(budget->own_bytes, n_bytes);
	return false;
}

static bool charge(
	const struct clv_view *view, const struct budget *budget, uint64_t n_bytes)
{
	uint64_t first_sum = 0, second_sum = 0;

	if (try_charge(view, budget, n_bytes, &first_sum))
		return true;
	/* Retries once if the sum has changed: the room may have been taken by another
	 * process's charge that failed too. */
	return first_sum > 0 && budget->sum(view) + n_bytes != first_sum &&
	       try_charge(view, budget, n_bytes, &second_sum);
}

bool clv_ledger_charge(uint64_t n_bytes)
{
	struct clv_view *view = clv_gate_current_view();
	struct budget quota;

	if (!view)
		return true;
	/* A process that only holds memory also needs the helper, to find the next agent,
	 * which would not know of the memory otherwise. */
	clv_helper_start();
	quota = (struct budget){atomic_load(&view->control->memory_quota_bytes),
		&view->slot->memory_bytes, sum_slots};
	return charge(view, &quota, n_bytes);
}

void clv_ledger_count_refusal(void)
{
	struct clv_view *view = clv_gate_current_view();

	if (view)
		atomic_fetch_add(&view->slot->refused, 1);
}

bool clv_ledger_spill(uint64_t n_bytes)
{
	struct clv_view *view = clv_gate_current_view();
	struct budget host;

	if (!view || !view->spilled_bytes)
		return false;
	host = (struct budget){atomic_load(&view->control->spill_bytes),
		view->spilled_bytes, sum_spilled};
	return charge(view, &host, n_bytes);
}

void clv_ledger_unspill(uint64_t n_bytes, uint32_t epoch)
{
	struct clv_view *view = clv_gate_current_view();

	if (view && view->spilled_bytes && epoch == clv_ledger_epoch())
		atomic_fetch_sub(view->spilled_bytes, n_bytes);
}

void clv_ledger_release(uint64_t n_bytes, uint32_t epoch)
{
	struct clv_view *view = clv_gate_current_view();

	if (view && epoch == clv_ledger_epoch())
		atomic_fetch_sub(&view->slot->memory_bytes, n_bytes);
}

void clv_ledger_correct(uint64_t charged_bytes, uint64_t real_bytes)
{
	struct clv_view *view = clv_gate_current_view();

	if (view)
		atomic_fetch_add(&view->slot->memory_bytes, real_bytes - charged_bytes);
}

uint64_t clv_ledger_used_bytes(void)
{
	struct clv_view *view = clv_gate_current_view();

	return view ? sum_slots(view) : 0;
}

bool clv_ledger_has_room(uint64_t n_bytes)
{
	uint64_t quota = clv_ledger_quota_bytes(), used = clv_ledger_used_bytes();

	return used <= quota && n_bytes <= quota - used;
}

uint64_t clv_ledger_settled_bytes(void)
{
	if (clv_gate.api->settle_memory)
		clv_gate.api->settle_memory();
	return clv_ledger_used_bytes();
}

uint64_t clv_ledger_quota_bytes(void)
{
	struct clv_view *view = clv_gate_current_view();

	return view ? atomic_load(&view->control->memory_quota_bytes) : UINT64_MAX;
}

void clv_ledger_clamp_info(size_t *free_bytes, size_t *total_bytes)
{
	uint64_t quota = clv_ledger_quota_bytes(), used, left;

	if (quota == UINT64_MAX)
		return;
	used = free_bytes ? clv_ledger_settled_bytes() : 0;
	left = used < quota ? quota - used : 0;
	if (free_bytes && *free_bytes > left)
		*free_bytes = left;
	if (total_bytes && *total_bytes > quota)
		*total_bytes = quota;
}
