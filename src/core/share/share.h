/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_error;

/* When a lease runs, never how much it gets. */
enum clv_class {
	CLV_CLASS_LATENCY,
	CLV_CLASS_NORMAL,
	CLV_CLASS_BATCH,
	_CLV_CLASS_MAX,
	_CLV_CLASS_INVALID = -22, /* -EINVAL */
};

const char *clv_class_to_string(enum clv_class class);
enum clv_class clv_class_from_string(const char *text);

/* Bounds between which the agent moves a share by demand (core/share/range.h).  The lower
 * bound is the promise.  most_ppm 0: the share is fixed. */
struct clv_share_range {
	uint32_t least_ppm, most_ppm;
};

/* A fraction of a device (or of a partition), enforced by software. */
struct clv_share {
	/* weight and guarantee, 1..1000000; within range, if it has one */
	uint32_t compute_ppm;
	uint32_t cap_ppm; /* never more than this, even on an idle device; 0: no cap */
	uint64_t memory_bytes; /* quota */
	enum clv_class class;
	struct clv_share_range range;
	uint64_t spill_bytes; /* host memory usable beyond the quota; 0: none */
};

/* A request as a user makes it; zero means "not given". */
struct clv_share_request {
	uint32_t compute_ppm; /* with a range: the initial share */
	uint32_t cap_ppm;
	uint64_t memory_bytes;
	enum clv_class class;
	struct clv_share_range range;
	uint64_t spill_bytes;
};

/* The promised compute, and the most that a range can make of it. */
uint32_t clv_share_promise_ppm(const struct clv_share *share);
uint32_t clv_share_most_ppm(const struct clv_share *share);

/* Completes a request: memory defaults to share x device memory, the share to the
 * memory's fraction of the device; -EINVAL if neither is given.  Of a range, the lower
 * bound determines the memory, and the share is clamped to it.  A cap below the share is
 * -EINVAL (the guarantee could never be met), more memory than the device has -ERANGE. */
int clv_share_resolve(const struct clv_share_request *request,
	uint64_t device_memory_bytes, struct clv_share *ret, struct clv_error *err);
