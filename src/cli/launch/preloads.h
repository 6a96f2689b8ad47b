/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

#define CLV_PRELOAD_LIBRARIES_MAX 4

/* The APIs that programs call by a vendor's own library, in front of which a gate is
 * preloaded. */
struct clv_preload {
	const char *api;
	const char *backend; /* of the devices that have it */
	const char *gate;    /* its file */
	const char *package;
	const char *probe; /* a function that the gate has, and the first library */
	/* What the lease's mount namespace covers; NULL ends it, if there is room. */
	const char *libraries[CLV_PRELOAD_LIBRARIES_MAX];
	/* That of them which the others need, and may look for beside themselves. */
	const char *needed;
};

enum {
	CLV_PRELOAD_CUDA,
	CLV_PRELOAD_HIP,
	CLV_N_PRELOADS,
};
extern const struct clv_preload clv_preloads[CLV_N_PRELOADS];

/* What holds programs on these devices, as the API shows those of a lease; NULL: no gate
 * is preloaded.  On a simulated GPU nothing can run. */
const struct clv_preload *clv_preload_of(const json_t *devices);
