/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/request.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* A pod's requests: a share and memory of one device for each container that requests
 * any, in the order in which they start.  An init container ends before the next starts,
 * unless its restartPolicy is Always.  Partitions and whole devices are counted by
 * Kubernetes itself. */

#define CLV_POD_CONTAINERS_MAX 32

struct clv_pod {
	char name[256], namespace[256], uid[64];
	struct clv_place_request requests[CLV_POD_CONTAINERS_MAX];
	bool ends_first[CLV_POD_CONTAINERS_MAX]; /* an init container that ends */
	size_t n_requests;
};

/* The names of the resources that cleave-kubelet offers. */
struct clv_pod_resources {
	const char *share;  /* "cleave.dev/gpu-share": hundredths of a device */
	const char *memory; /* "cleave.dev/gpu-memory"; "-256mi" or "-1gi" may follow */
	uint32_t memory_unit_mib; /* the size of one unit of memory without that */
};

/* Reads a v1.Pod.  -EINVAL: a request is invalid. */
int clv_pod_read(const json_t *pod, const struct clv_pod_resources *resources,
	struct clv_pod *ret, struct clv_error *err);
