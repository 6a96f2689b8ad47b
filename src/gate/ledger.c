/* SPDX-License-Identifier: Apache-2.0 */
/* The memory quota.  A process adds to its own slot and then sums all slots of the lease,
 * so two that race may both be refused, but never both be let in over the quota; no lock,
 * and no total that a death could leave wrong. */
#include "gate/state.h"

/* And what only the driver shows. */
static uint64_t sum_slots(const struct clv_view *view)
{
	uint32_t n = atomic_load(&view->control->slots_used);
	uint64_t sum = atomic_load(&view->control->memory_overhead_bytes);

	for (uint32_t i = 0; i < n && i < CLV_SLOTS; i++)
		sum += atomic_load(&view->report->slots[i].memory_bytes);
	return sum;
}

static bool try_charge(struct clv_view *view, uint64_t n_bytes, uint64_t *ret_sum)
{
	uint64_t quota = atomic_load(&view->control->memory_quota_bytes);

	if (n_bytes > quota)
		return false;
	atomic_fetch_add(&view->slot->memory_bytes, n_bytes);
	*ret_sum = sum_slots(view);
	if (*ret_sum <= quota)
		return true;
	atomic_fetch_sub(&view->slot->memory_bytes, n_bytes);
	return false;
}

bool clv_ledger_charge(uint64_t n_bytes)
{
	struct clv_view *view = clv_gate_peek();
	uint64_t first_sum = 0, second_sum = 0;

	/* Who only holds memory has to find the next agent as well, or that one would not
	 * know of it. */
	if (view)
		clv_helper_start();
	if (!view || try_charge(view, n_bytes, &first_sum))
		return true;
	/* What stood in the way may have been another's reservation that fails as well.
	 */
	if (first_sum > 0 && sum_slots(view) + n_bytes != first_sum &&
		try_charge(view, n_bytes, &second_sum))
		return true;
	atomic_fetch_add(&view->slot->refused, 1);
	return false;
}

void clv_ledger_release(uint64_t n_bytes, uint32_t epoch)
{
	struct clv_view *view = clv_gate_peek();

	if (view && epoch == clv_ledger_epoch())
		atomic_fetch_sub(&view->slot->memory_bytes, n_bytes);
}

void clv_ledger_correct(uint64_t charged_bytes, uint64_t real_bytes)
{
	struct clv_view *view = clv_gate_peek();

	if (view)
		atomic_fetch_add(&view->slot->memory_bytes, real_bytes - charged_bytes);
}

uint64_t clv_ledger_used_bytes(void)
{
	struct clv_view *view = clv_gate_peek();

	return view ? sum_slots(view) : 0;
}

uint64_t clv_ledger_settled_bytes(void)
{
	if (clv_gate.api->settle_memory)
		clv_gate.api->settle_memory();
	return clv_ledger_used_bytes();
}

uint64_t clv_ledger_quota_bytes(void)
{
	struct clv_view *view = clv_gate_peek();

	return view ? atomic_load(&view->control->memory_quota_bytes) : UINT64_MAX;
}

void clv_ledger_show(size_t *free_bytes, size_t *total_bytes)
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
