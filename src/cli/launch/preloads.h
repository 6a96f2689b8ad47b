/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

#define CLV_PRELOAD_LIBRARIES_MAX 4

/* An API that programs call in a vendor's library, and the gate that is preloaded before
 * that library. */
struct clv_preload {
	const char *api;
	const char *backend; /* of the devices with this API */
	const char *gate;    /* its file name */
	const char *package;
	const char *probe; /* a function of the gate and of the first library */
	/* Covered by shims in the lease's mount namespace; ended by NULL unless full. */
	const char *libraries[CLV_PRELOAD_LIBRARIES_MAX];
	/* The one that the others need and may search for in their own folder. */
	const char *needed;
};

enum {
	CLV_PRELOAD_CUDA,
	CLV_PRELOAD_HIP,
	CLV_N_PRELOADS,
};
extern const struct clv_preload clv_preloads[CLV_N_PRELOADS];

/* The gate to preload for the devices of a lease, as the API shows them; NULL: none.  A
 * simulated GPU needs none, since no program can use it. */
const struct clv_preload *clv_preload_of(const json_t *devices);
