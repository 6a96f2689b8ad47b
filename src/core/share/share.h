/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_error;

/* How fast a lease is served and given way to; never how much it gets. */
enum clv_class {
	CLV_CLASS_LATENCY,
	CLV_CLASS_NORMAL,
	CLV_CLASS_BATCH,
	_CLV_CLASS_MAX,
	_CLV_CLASS_INVALID = -22, /* -EINVAL */
};

const char *clv_class_to_string(enum clv_class class);
enum clv_class clv_class_from_string(const char *text);

/* Between what the agent moves a share, by demand (core/share/range.h).  The least of it
 * is what is promised.  most_ppm 0: the share stays as it is. */
struct clv_share_range {
	uint32_t least_ppm, most_ppm;
};

/* A fraction of a device (or of a partition), enforced by software. */
struct clv_share {
	uint32_t compute_ppm; /* weight and guarantee, 1..1000000; in range, if it has one
			       */
	uint32_t cap_ppm;     /* never more than this, even when idle; 0: no cap */
	uint64_t memory_bytes; /* quota */
	enum clv_class class;
	struct clv_share_range range;
	uint64_t spill_bytes; /* of the host's memory beyond the quota; 0: none */
};

/* What a person asked for; zero means "not said". */
struct clv_share_request {
	uint32_t compute_ppm; /* with a range: where in it to begin */
	uint32_t cap_ppm;
	uint64_t memory_bytes;
	enum clv_class class;
	struct clv_share_range range;
	uint64_t spill_bytes;
};

/* What of the compute is promised, and what it may become. */
uint32_t clv_share_promise_ppm(const struct clv_share *share);
uint32_t clv_share_most_ppm(const struct clv_share *share);

/* Fills what was not said from what was: no memory is share x device memory, no share is
 * the memory's fraction of the device, neither is -EINVAL.  Of a range, the least counts
 * for the memory, and the share begins in it.  A cap below the share is
 * -EINVAL (the guarantee could never be had), more memory than the device has -ERANGE. */
int clv_share_resolve(const struct clv_share_request *request,
	uint64_t device_memory_bytes, struct clv_share *ret, struct clv_error *err);
