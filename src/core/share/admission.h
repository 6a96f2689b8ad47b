/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_share;

/* Sum of the promises on one device. */
struct clv_promised {
	uint64_t compute_ppm;
	uint64_t memory_bytes;
};

/* Whether one more share fits: quotas sum to at most the memory, guarantees to at most 1.
 * Returns 0, or -EBUSY (it does not fit now) with a message that says what is left.  With
 * overcommit it always fits. */
int clv_admission_check(const struct clv_promised *promised,
	const struct clv_share *wanted, uint64_t device_memory_bytes,
	const char *device_name, bool overcommit, struct clv_error *err);
