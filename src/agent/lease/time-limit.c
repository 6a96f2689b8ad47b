/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lease/time-limit.h"

#include "base/clock.h"

/* Smaller differences of the clocks do not change what is shown. */
#define TOLERANCE_NS CLV_NS_PER_S

void clv_time_limit_begin(struct clv_lease_record *record, uint64_t time_s)
{
	if (time_s == 0)
		return;
	record->expires_real_ns = record->created_real_ns + time_s * CLV_NS_PER_S;
	record->ends_boot_ns = clv_clock_boot_ns() + time_s * CLV_NS_PER_S;
}

bool clv_time_limit_is_over(
	struct clv_lease_record *record, uint64_t boot_ns, uint64_t real_ns)
{
	uint64_t end_real_ns;

	if (record->expires_real_ns == 0)
		return false;
	if (record->ends_boot_ns <= boot_ns)
		return true;
	end_real_ns = real_ns + (record->ends_boot_ns - boot_ns);
	if (end_real_ns > record->expires_real_ns + TOLERANCE_NS ||
		end_real_ns + TOLERANCE_NS < record->expires_real_ns)
		record->expires_real_ns = end_real_ns;
	return false;
}

void clv_time_limit_adopt(struct clv_lease_record *record)
{
	uint64_t boot_ns = clv_clock_boot_ns(), real_ns = clv_clock_real_ns();
	uint64_t end_ns = record->expires_real_ns, all_ns, left_ns;

	if (end_ns > 0 && record->ends_boot_ns == 0) {
		all_ns = end_ns > record->created_real_ns
				 ? end_ns - record->created_real_ns
				 : 0;
		left_ns = end_ns > real_ns ? end_ns - real_ns : 0;
		record->ends_boot_ns = boot_ns + (left_ns < all_ns ? left_ns : all_ns);
	}
	clv_time_limit_is_over(record, boot_ns, real_ns);
}
