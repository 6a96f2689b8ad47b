/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_client;
struct clv_error;
struct json_t;

/* The node's devices and partitions, as far as Kubernetes is told of them.  Plain data,
 * made anew when the node changes. */

struct clv_kube_device {
	char name[72]; /* "gpu0", "gpu0/1g.10gb@4" */
	char uuid[96];
	char parent[72]; /* of a partition: its device */
	char model[128];
	char vendor[64];
	char driver[64];
	char scheme[8]; /* of a partition */
	char profile[40];
	uint64_t memory_bytes;
	uint32_t compute_units;
	int32_t numa_node; /* -1: not known */
	bool is_divided;   /* what there is to be had are its partitions */
	bool is_healthy;
	char why[160]; /* it is not */
};

struct clv_kube_inventory {
	struct clv_kube_device *items;
	size_t n;
	uint64_t serial; /* grows when anything is different */
};

/* From what the agent answers for its devices.  -EINVAL, -ENOMEM. */
int clv_kube_inventory_parse(const struct json_t *devices, struct clv_kube_inventory *ret,
	struct clv_error *err);
int clv_kube_inventory_fetch(
	struct clv_client *client, struct clv_kube_inventory *ret, struct clv_error *err);
void clv_kube_inventory_clear(struct clv_kube_inventory *inventory);
/* NULL: it has none of that name. */
const struct clv_kube_device *clv_kube_inventory_find(
	const struct clv_kube_inventory *inventory, const char *name);
bool clv_kube_inventory_equals(
	const struct clv_kube_inventory *a, const struct clv_kube_inventory *b);
