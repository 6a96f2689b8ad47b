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

/* A fraction of a device (or of a partition), enforced by software. */
struct clv_share {
	uint32_t compute_ppm;  /* weight and guarantee, 1..1000000 */
	uint32_t cap_ppm;      /* never more than this, even when idle; 0: no cap */
	uint64_t memory_bytes; /* quota */
	enum clv_class class;
};

/* What a person asked for; zero means "not said". */
struct clv_share_request {
	uint32_t compute_ppm;
	uint32_t cap_ppm;
	uint64_t memory_bytes;
	enum clv_class class;
};

/* Fills what was not said from what was: no memory is share x device memory, no share is
 * the memory's fraction of the device, neither is -EINVAL.  A cap below the share is
 * -EINVAL (the guarantee could never be had), more memory than the device has -ERANGE. */
int clv_share_resolve(const struct clv_share_request *request,
	uint64_t device_memory_bytes, struct clv_share *ret, struct clv_error *err);
