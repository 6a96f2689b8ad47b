/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one more share fits on a device.  The agent queues what does not fit. */
#include "core/share/admission.h"

#include "base/error.h"
#include "base/units.h"
#include "core/share/share.h"

#include <errno.h>

static uint64_t left_over(uint64_t whole, uint64_t used)
{
	return used < whole ? whole - used : 0;
}

int clv_admission_check(const struct clv_promised *promised,
	const struct clv_share *wanted, uint64_t device_memory_bytes,
	const char *device_name, bool overcommit, struct clv_error *err)
{
	uint64_t compute_left = left_over(CLV_PPM, promised->compute_ppm);
	uint64_t memory_left = left_over(device_memory_bytes, promised->memory_bytes);
	uint32_t wanted_ppm = clv_share_promise_ppm(wanted);
	char wanted_text[32], left_text[32];

	if (overcommit)
		return 0;
	if (wanted_ppm > compute_left) {
		clv_units_format_fraction(wanted_ppm, wanted_text);
		clv_units_format_fraction((uint32_t)compute_left, left_text);
		return clv_error_set(err, -EBUSY,
			"share %s does not fit on %s now: %s of it is left; ask for "
			"less, wait with --wait, or see its holders with cleave ps",
			wanted_text, device_name, left_text);
	}
	if (wanted->memory_bytes > memory_left) {
		clv_units_format_bytes(wanted->memory_bytes, wanted_text);
		clv_units_format_bytes(memory_left, left_text);
		return clv_error_set(err, -EBUSY,
			"%s of memory does not fit on %s now: %s is left; ask for "
			"less, wait with --wait, or see its holders with cleave ps",
			wanted_text, device_name, left_text);
	}
	return 0;
}
