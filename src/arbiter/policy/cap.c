/* SPDX-License-Identifier: Apache-2.0 */
/* Caps as budgets.  A period begins when the cap is set, not on a common grid, so that
 * capped leases do not all become runnable at the same moment. */
#include "arbiter/policy/cap.h"

#include "base/units.h"

/* Bounds the overdraft, at more than a century, so that the sums cannot overflow. */
#define MIN_BUDGET_NS (-(INT64_C(1) << 62))

static int64_t whole_budget_ns(const struct clv_cap *cap)
{
	return (int64_t)(CLV_CAP_PERIOD_NS / CLV_PPM * cap->cap_ppm);
}

void clv_cap_init(struct clv_cap *cap, uint32_t cap_ppm, uint64_t now_ns)
{
	*cap = (struct clv_cap){.cap_ppm = cap_ppm, .period_start_ns = now_ns};
	cap->budget_ns = whole_budget_ns(cap);
}

void clv_cap_resize(struct clv_cap *cap, uint32_t cap_ppm, bool has_work, uint64_t now_ns)
{
	int64_t used_ns;

	if (cap->cap_ppm == 0 || cap_ppm == 0) {
		clv_cap_init(cap, cap_ppm, now_ns);
		return;
	}
	clv_cap_refill(cap, has_work, now_ns);
	used_ns = whole_budget_ns(cap) - cap->budget_ns;
	cap->cap_ppm = cap_ppm;
	cap->budget_ns = whole_budget_ns(cap) - used_ns;
}

void clv_cap_refill(struct clv_cap *cap, bool has_work, uint64_t now_ns)
{
	int64_t most_ns = whole_budget_ns(cap) * (has_work ? CLV_CAP_KEPT_PERIODS : 1);
	uint64_t periods;
	__int128 budget_ns;

	if (cap->cap_ppm == 0 || now_ns < cap->period_start_ns)
		return;
	periods = (now_ns - cap->period_start_ns) / CLV_CAP_PERIOD_NS;
	if (periods == 0)
		return;

	budget_ns = cap->budget_ns + (__int128)periods * whole_budget_ns(cap);
	if (budget_ns > most_ns)
		budget_ns = most_ns;
	cap->budget_ns = (int64_t)budget_ns;
	cap->period_start_ns += periods * CLV_CAP_PERIOD_NS;
}

void clv_cap_limit(struct clv_cap *cap, int64_t due_ns)
{
	int64_t most_ns = whole_budget_ns(cap) + (due_ns > 0 ? due_ns : 0);

	if (cap->budget_ns > most_ns)
		cap->budget_ns = most_ns;
}

/* Deducts the time first and then adds the budgets of the periods that began meanwhile:
 * work that spans periods is paid from all of them. */
void clv_cap_charge(struct clv_cap *cap, uint64_t held_ns, bool has_work, uint64_t now_ns)
{
	if (cap->cap_ppm == 0)
		return;
	if (held_ns > INT64_MAX / 4)
		held_ns = INT64_MAX / 4;
	cap->budget_ns -= (int64_t)held_ns;
	if (cap->budget_ns < MIN_BUDGET_NS)
		cap->budget_ns = MIN_BUDGET_NS;
	clv_cap_refill(cap, has_work, now_ns);
}

void clv_cap_refund(struct clv_cap *cap, uint64_t ns)
{
	int64_t most_ns = whole_budget_ns(cap);

	if (cap->cap_ppm == 0 || cap->budget_ns >= most_ns)
		return;
	if (ns > (uint64_t)(most_ns - cap->budget_ns))
		ns = (uint64_t)(most_ns - cap->budget_ns);
	cap->budget_ns += (int64_t)ns;
}

bool clv_cap_is_overdrawn(const struct clv_cap *cap)
{
	return cap->cap_ppm > 0 && cap->budget_ns <= 0;
}

uint64_t clv_cap_overdrawn_until_ns(const struct clv_cap *cap)
{
	uint64_t periods = (uint64_t)(-cap->budget_ns / whole_budget_ns(cap)) + 1;

	if (periods > (UINT64_MAX - cap->period_start_ns) / CLV_CAP_PERIOD_NS)
		return UINT64_MAX;
	return cap->period_start_ns + periods * CLV_CAP_PERIOD_NS;
}
