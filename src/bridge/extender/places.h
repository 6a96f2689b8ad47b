/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/pod.h"
#include "core/fleet/fleet.h"

#include <jansson.h>
#include <stdint.h>

struct clv_error;

/* The free room on the nodes of a cluster: as cleave-kubelet announces it, less what was
 * bound since.
 *
 * An annotation of each node has what is free on each of its devices that are not
 * divided: cleave.dev/devices: [{"name": "gpu0", "model": "...", "memory_mib": 81559,
 *                         "free_milli": 700, "free_mib": 57091}, ...]
 * The room of a bound pod is held until the annotation includes the pod.  A pod that
 * fails is never included: its room is held for CLV_PLACES_HELD_NS after the annotation
 * has changed, in which the pod must have started or failed, or for CLV_PLACES_UNHEARD_NS
 * if it does not change: then the node may run the pod and be unable to announce it.  As
 * long as the API server tells that the pod has not started, such room is held for
 * longer. Until then a pod may be counted twice, but never zero times, so two pods never
 * get the same room.
 *
 * An extender writes what it holds for a pod into an annotation of the pod, with the
 * binding: cleave.dev/placed: [{"container": 0, "device": "gpu0", "milli": 300,
 *                         "mib": 24467, "free": 1000}]
 * So the extenders beside the cluster's other schedulers, and one that has been
 * restarted, hold the same room.
 *
 * Time is the caller's argument.  One thread at a time. */
struct clv_places;

#define CLV_PLACES_ANNOTATION "cleave.dev/devices"
#define CLV_PLACES_POD_ANNOTATION "cleave.dev/placed"
#define CLV_PLACES_HELD_NS (UINT64_C(30) * 1000000000)
#define CLV_PLACES_UNHEARD_NS (UINT64_C(600) * 1000000000)

struct clv_places *clv_places_new(void);
struct clv_places *clv_places_free(struct clv_places *places);

/* Whether and how well a pod fits on a node. */
struct clv_verdict {
	bool fits;
	bool is_hopeless; /* the end of other pods would not help */
	int64_t score;    /* if it fits; more is better */
	char reason[128]; /* if it does not fit */
};

/* Judges the pod on each node.  nodes: an array of v1.Node, whose announcements are read,
 * or of names of nodes that were read before; verdicts: an array of the same length.
 * -ENOMEM. */
int clv_places_judge(struct clv_places *places, const json_t *nodes,
	const struct clv_pod *pod, uint64_t now_ns, struct clv_verdict *verdicts,
	struct clv_error *err);

/* Holds the room for a judged pod on the node.  -ENOENT: the pod or the node was not
 * judged before; -ENOSPC: the pod no longer fits, with the reason. */
int clv_places_hold(struct clv_places *places, const char *uid, const char *node,
	uint64_t now_ns, struct clv_error *err);

/* Releases the held room of a pod that could not be bound. */
void clv_places_release(struct clv_places *places, const char *uid);

/* The value of the annotation of a bound pod; the caller owns it. */
json_t *clv_places_show_held(const struct clv_places *places, const char *uid);

/* --- The API server's nodes --- */

/* A node that is not listed between these two calls does not exist.  What is held on it
 * is kept, because its kubelet may register it again. */
void clv_places_begin_list(struct clv_places *places);
void clv_places_list_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns);
void clv_places_end_list(struct clv_places *places);

void clv_places_change_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns);
void clv_places_remove_node(struct clv_places *places, const char *name);

/* --- The API server's pods --- */

/* A bound pod that has not started: the room that another extender holds for it is held
 * here too, once, and no more than it requests.  object: a v1.Pod. */
void clv_places_adopt(struct clv_places *places, const json_t *object,
	const struct clv_pod_resources *resources, uint64_t now_ns);
/* The pod has started or ended, or is not in a list; what is held stays for its time. */
void clv_places_forget(struct clv_places *places, const char *uid);
void clv_places_begin_pods(struct clv_places *places);
void clv_places_end_pods(struct clv_places *places);
