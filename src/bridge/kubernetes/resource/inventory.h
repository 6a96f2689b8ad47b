/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_client;
struct clv_error;
struct json_t;

/* The node's devices and partitions, with the properties that Kubernetes gets to see.
 * Plain data, built again when the node changes. */

struct clv_kube_device {
	char name[72]; /* "gpu0", "gpu0/1g.10gb@4" */
	char uuid[96];
	char parent[72]; /* the device of a partition; "" for a device */
	char model[128];
	char vendor[64];
	char backend[16];
	char driver[64];
	char cuda[16];         /* of the agent's "cuda_version"; this and the next two may
				* be "" */
	char architecture[24]; /* "hopper" */
	char capability[8];    /* "9.0" */
	char scheme[8];        /* of a partition */
	char profile[40];
	uint64_t memory_bytes;
	uint32_t compute_units;
	int32_t numa_node; /* -1: not known */
	bool is_cpu;       /* the processor, as OpenCL shows it */
	bool is_divided;   /* only its partitions can be used */
	bool is_healthy;
	/* If it is not healthy: "cordoned", "degraded", "lost", or "unknown" while the
	 * agent does not answer; and the reason. */
	char state[16];
	char why[160];
};

struct clv_kube_inventory {
	struct clv_kube_device *items;
	size_t n;
	uint64_t serial; /* grows with each change */
};

/* Reads the agent's list of devices.  -EINVAL, -ENOMEM. */
int clv_kube_inventory_parse(const struct json_t *devices, struct clv_kube_inventory *ret,
	struct clv_error *err);
int clv_kube_inventory_fetch(
	struct clv_client *client, struct clv_kube_inventory *ret, struct clv_error *err);
void clv_kube_inventory_clear(struct clv_kube_inventory *inventory);
/* NULL: there is no device of that name. */
const struct clv_kube_device *clv_kube_inventory_find(
	const struct clv_kube_inventory *inventory, const char *name);
bool clv_kube_inventory_equals(
	const struct clv_kube_inventory *a, const struct clv_kube_inventory *b);
