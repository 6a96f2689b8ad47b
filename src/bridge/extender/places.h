/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/pod.h"
#include "core/fleet/fleet.h"

#include <jansson.h>
#include <stdint.h>

struct clv_error;

/* The nodes of a cluster as cleave-kubelet tells of them, and the pods that were given a
 * place which no node tells of yet.
 *
 * A node says in an annotation what is free on each of its devices that are not divided:
 *   cleave.dev/devices: [{"name": "gpu0", "model": "...", "memory_mib": 81559,
 *                         "free_milli": 700, "free_mib": 57091}, ...]
 * What was bound to a node is held there until the node's own word has it, or for so long
 * that the pod must have been started or given up.  Meanwhile it may be counted twice,
 * never not at all: two pods are not given one place.
 *
 * Time is the caller's argument.  One thread at a time. */
struct clv_places;

#define CLV_PLACES_ANNOTATION "cleave.dev/devices"
#define CLV_PLACES_HELD_NS (UINT64_C(30) * 1000000000)

struct clv_places *clv_places_new(void);
struct clv_places *clv_places_free(struct clv_places *places);

/* How well a pod would sit on each of these nodes. */
struct clv_verdict {
	bool fits;
	int64_t score;    /* more is better; of those that fit */
	char reason[128]; /* why it does not */
};

/* nodes: an array of v1.Node.  verdicts has one for each.  -ENOMEM. */
int clv_places_judge(struct clv_places *places, const json_t *nodes,
	const struct clv_pod *pod, uint64_t now_ns, struct clv_verdict *verdicts,
	struct clv_error *err);

/* The pod, which was judged, goes there: what it asks for is held.  -ENOENT: the pod or
 * the node was not seen; -ENOSPC: it does not fit there any more, and why. */
int clv_places_hold(struct clv_places *places, const char *uid, const char *node,
	uint64_t now_ns, struct clv_error *err);

/* It did not go there after all. */
void clv_places_let_go(struct clv_places *places, const char *uid);
