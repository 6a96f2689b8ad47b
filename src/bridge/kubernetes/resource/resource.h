/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_kube_inventory;

/* Extended resources: what kubelet counts, and what its ids stand for.  An id names the
 * device that it is of, so that what was allocated is known from the ids alone, whoever
 * asks and whenever.  Pure. */

#define CLV_KUBE_KEY_MAX 96
#define CLV_KUBE_HUNDREDTHS 100u

enum clv_kube_kind {
	CLV_KUBE_OF_SHARE,
	CLV_KUBE_OF_MEMORY,
	CLV_KUBE_OF_REPLICA,
	CLV_KUBE_OF_ONE, /* a partition, or a device as a whole */
};

/* A device that has some of a resource. */
struct clv_kube_source {
	char key[CLV_KUBE_KEY_MAX]; /* of its ids: "KEY", or "KEY::N" of several */
	char device[72];
	char whole[72]; /* the device that it is a part of, or it itself */
	uint64_t memory_bytes;
	uint32_t n_units;
	int32_t numa_node;
	bool is_healthy;
};

struct clv_kube_resource {
	char name[CLV_KUBE_NAME_MAX];
	enum clv_kube_kind kind;
	uint64_t unit_bytes; /* of memory */
	bool is_packed;
	struct clv_kube_source *sources;
	size_t n;
};

struct clv_kube_resources {
	struct clv_kube_resource *items;
	size_t n;
};

int clv_kube_resources_make(const struct clv_kube_inventory *inventory,
	const struct clv_kube_settings *settings, struct clv_kube_resources *ret,
	struct clv_error *err);
void clv_kube_resources_clear(struct clv_kube_resources *resources);
void clv_kube_resource_clear(struct clv_kube_resource *resource);

/* How an id is written; for a source with one unit the key alone. */
void clv_kube_id(const struct clv_kube_source *source, uint32_t unit,
	char ret[CLV_KUBE_KEY_MAX + 16]);
/* What the id says, whether or not there is such a source.  -EINVAL: nothing. */
int clv_kube_split_id(const struct clv_kube_resource *resource, const char *id,
	char ret_key[CLV_KUBE_KEY_MAX], uint32_t *ret_unit);
/* The source, with *ret_unit; NULL: there is no such id. */
const struct clv_kube_source *clv_kube_find_id(
	const struct clv_kube_resource *resource, const char *id, uint32_t *ret_unit);
const struct clv_kube_source *clv_kube_find_key(
	const struct clv_kube_resource *resource, const char *key);

/* The body of a ListAndWatch message, to be freed; -EMSGSIZE: it is more than kubelet
 * reads. */
#define CLV_KUBE_LIST_MAX_BYTES (15u << 20)
int clv_kube_resource_encode(const struct clv_kube_resource *resource, uint8_t **ret,
	size_t *ret_bytes, struct clv_error *err);
