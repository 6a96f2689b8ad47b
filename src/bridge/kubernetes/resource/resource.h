/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_kube_inventory;

/* Extended resources and their ids.  An id contains the device that it belongs to, so
 * that the allocated lease follows from the ids alone, without a stored state.  Pure. */

#define CLV_KUBE_KEY_MAX 96
#define CLV_KUBE_HUNDREDTHS 100u

enum clv_kube_kind {
	CLV_KUBE_OF_SHARE,
	CLV_KUBE_OF_MEMORY,
	CLV_KUBE_OF_REPLICA,
	CLV_KUBE_OF_ONE, /* a partition, or a whole device */
};

/* A device that supplies units of a resource. */
struct clv_kube_source {
	char key[CLV_KUBE_KEY_MAX]; /* ids are "KEY", or "KEY::N" for several units */
	char device[72];            /* name of the device or partition */
	char whole[72];             /* name of the partition's device, or the same */
	uint64_t memory_bytes;
	uint32_t n_units;
	int32_t numa_node;
	bool is_healthy;
};

struct clv_kube_resource {
	char name[CLV_KUBE_NAME_MAX];
	enum clv_kube_kind kind;
	uint64_t unit_bytes; /* CLV_KUBE_OF_MEMORY: the size of a unit */
	bool is_packed;
	struct clv_kube_source *sources; /* owned */
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

/* Writes an id: KEY for a source with one unit, else KEY::UNIT. */
void clv_kube_id(const struct clv_kube_source *source, uint32_t unit,
	char ret[CLV_KUBE_KEY_MAX + 16]);
/* Splits an id into key and unit; the source need not exist.  -EINVAL: malformed. */
int clv_kube_split_id(const struct clv_kube_resource *resource, const char *id,
	char ret_key[CLV_KUBE_KEY_MAX], uint32_t *ret_unit);
/* The source of an id, and its unit; NULL: there is no such id. */
const struct clv_kube_source *clv_kube_find_id(
	const struct clv_kube_resource *resource, const char *id, uint32_t *ret_unit);
const struct clv_kube_source *clv_kube_find_key(
	const struct clv_kube_resource *resource, const char *key);

/* Encodes the body of a ListAndWatch message.  The caller frees *ret.  -EMSGSIZE: the
 * message would be larger than kubelet accepts, which is grpc-go's default
 * (defaultServerMaxReceiveMessageSize in clientconn.go). */
#define CLV_KUBE_LIST_MAX_BYTES (4u << 20)
int clv_kube_resource_encode(const struct clv_kube_resource *resource, uint8_t **ret,
	size_t *ret_bytes, struct clv_error *err);
