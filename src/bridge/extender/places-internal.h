/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/places.h"
#include "core/place/singles.h"

#include <stdbool.h>

/* What nodes announce, and the room that is held of it.  Shared by the files of struct
 * clv_places. */

#define CLV_PLACES_SHAPES 32u
#define CLV_PLACES_PODS 512u
#define CLV_PLACES_HELD_MAX 4096u
#define CLV_PLACES_NAME_BYTES 256
#define CLV_PLACES_DEVICE_BYTES 32

struct clv_places_device {
	char name[CLV_PLACES_DEVICE_BYTES];
	struct clv_single left; /* what is announced, less what is held */
	uint32_t said_mib;      /* what is announced as free */
	uint16_t said_milli;
};

struct clv_places_node {
	char name[CLV_PLACES_NAME_BYTES];
	uint64_t version;  /* resourceVersion of the newest object read; 0: none */
	uint32_t checksum; /* of the annotation */
	bool is_listed;    /* in the list that is being read */
	struct clv_places_device *devices; /* owned */
	size_t n;
};

/* Held room: what a container of a bound pod gets on its node. */
struct clv_places_held {
	char uid[64], node[CLV_PLACES_NAME_BYTES];
	char device[CLV_PLACES_DEVICE_BYTES];
	uint32_t mib;
	uint16_t milli;
	uint64_t until_ns;
	uint16_t then_free_milli; /* free on the device when the room was held */
	uint8_t container;        /* index in the pod's requests */
	bool is_limited;          /* the node has announced something since */
};

/* A pod that is bound and has not started, by a hash of its uid. */
struct clv_places_bound {
	uint64_t uid;
	bool is_listed;
};

struct clv_places {
	struct clv_place_request
		shapes[CLV_PLACES_SHAPES]; /* ring: the latest requests */
	uint64_t n_shapes;
	struct clv_pod pods[CLV_PLACES_PODS]; /* ring of the latest judged pods */
	uint64_t n_pods;
	struct clv_places_held held[CLV_PLACES_HELD_MAX];
	size_t n_held;
	struct clv_places_node **nodes; /* owned; sorted by name */
	size_t n_nodes;
	struct clv_places_bound *bound; /* owned */
	size_t n_bound;
	uint64_t n_replaced; /* of these */
	bool has_pods;       /* a whole list of pods was read: bound is complete */
};

/* --- table.c --- */

/* NULL: there is none. */
struct clv_places_node *clv_places_find_node(
	const struct clv_places *places, const char *name);
/* NULL: out of memory. */
struct clv_places_node *clv_places_find_or_add_node(
	struct clv_places *places, const char *name);
/* NULL: the node announces no such device. */
struct clv_places_device *clv_places_find_device(
	struct clv_places_node *node, const char *name);

/* --- holds.c --- */

/* Computes what is left on the node, without the held room that its announcement
 * includes, which is dropped. */
void clv_places_recount(struct clv_places *places, struct clv_places_node *node);
void clv_places_drop_expired(struct clv_places *places, uint64_t now_ns);
/* The node announces: a pod that it does not include soon has failed. */
void clv_places_limit_held(
	struct clv_places *places, const struct clv_places_node *node, uint64_t now_ns);
bool clv_places_is_held(const struct clv_places *places, const char *uid);
/* Returns false if there is no place for it; the caller recounts the node. */
bool clv_places_add_held(struct clv_places *places, const struct clv_places_held *held);

/* --- announcement.c --- */

/* Reads a node's object, unless a newer one was read.  NULL: out of memory. */
struct clv_places_node *clv_places_read_node(
	struct clv_places *places, const json_t *object, uint64_t now_ns);

/* --- bound.c --- */

/* Records a pod as bound, so that it is not adopted.  Returns false if out of memory. */
bool clv_places_know(struct clv_places *places, const char *uid);
/* Whether the API server tells that the pod is bound and has not started. */
bool clv_places_is_bound(const struct clv_places *places, const char *uid);
