/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what nodes announce and what is held for bound pods, and judges nodes with
 * core/place: each device of a node is a node of core's fleet. */
#include "bridge/extender/places.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/place/singles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPES_KEPT 32u
#define PODS_KEPT 512u
#define HELD_MAX 4096u
#define NAME_BYTES 256

struct node {
	char name[NAME_BYTES];
	uint64_t version;  /* resourceVersion of the newest object read; 0: none */
	uint32_t checksum; /* of the annotation */
	struct clv_single devices[CLV_PLACE_DEVICES_MAX];
	size_t n;
};

/* Held room: what a container of a bound pod gets on its node. */
struct held {
	char uid[64], node[NAME_BYTES];
	size_t device; /* index in the node's devices */
	uint32_t mib;
	uint16_t milli;
	uint64_t until_ns;
	uint16_t then_free_milli; /* free on the device when the room was held */
};

struct clv_places {
	struct clv_place_request shapes[SHAPES_KEPT]; /* ring of the latest requests */
	uint64_t n_shapes;
	struct clv_pod pods[PODS_KEPT]; /* ring of the latest judged pods */
	uint64_t n_pods;
	struct held held[HELD_MAX];
	size_t n_held;
	struct node **nodes; /* owned; sorted by name */
	size_t n_nodes;
};

struct clv_places *clv_places_new(void)
{
	return calloc(1, sizeof(struct clv_places));
}

struct clv_places *clv_places_free(struct clv_places *places)
{
	for (size_t i = 0; places && i < places->n_nodes; i++)
		free(places->nodes[i]);
	if (places)
		free(places->nodes);
	free(places);
	return NULL;
}

/* --- Nodes --- */

static uint32_t number_of(const json_t *object, const char *key, uint32_t most)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value < 0 ? 0 : value > most ? most : (uint32_t)value;
}

static void read_device(const json_t *item, struct clv_single *ret)
{
	const char *model = json_string_value(json_object_get(item, "model"));

	snprintf(ret->model, sizeof(ret->model), "%.31s", model ? model : "");
	ret->memory_mib = number_of(item, "memory_mib", UINT32_MAX);
	ret->free_mib = number_of(item, "free_mib", ret->memory_mib);
	ret->free_milli = (uint16_t)number_of(item, "free_milli", CLV_PLACE_WHOLE);
}

static const char *name_of(const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *name = json_string_value(json_object_get(metadata, "name"));

	return name ? name : "";
}

/* resourceVersion grows with every change in the cluster. */
static uint64_t version_of(const json_t *object)
{
	const char *text = json_string_value(
		json_object_get(json_object_get(object, "metadata"), "resourceVersion"));

	return text ? strtoull(text, NULL, 10) : 0;
}

/* Returns whether the annotation has changed. */
static bool read_devices(const json_t *object, struct node *node)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *said = json_string_value(json_object_get(
		json_object_get(metadata, "annotations"), CLV_PLACES_ANNOTATION));
	uint32_t checksum = said ? clv_crc32(0, said, strlen(said)) : 0;
	bool has_changed = checksum != node->checksum;
	json_t *devices = said ? json_loads(said, 0, NULL) : NULL;
	const json_t *item;
	size_t i;

	node->checksum = checksum;
	node->n = 0;
	json_array_foreach (devices, i, item) {
		if (node->n < CLV_PLACE_DEVICES_MAX)
			read_device(item, &node->devices[node->n++]);
	}
	json_decref(devices);
	return has_changed;
}

/* Binary search: the index of the node with this name, or where it would be inserted. */
static size_t search_node(
	const struct clv_places *places, const char *name, bool *ret_is_there)
{
	size_t low = 0, high = places->n_nodes;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(places->nodes[middle]->name, name);

		if (order == 0)
			*ret_is_there = true;
		if (order >= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct node *find_node(const struct clv_places *places, const char *name)
{
	bool is_there;
	size_t at = search_node(places, name, &is_there);

	return is_there ? places->nodes[at] : NULL;
}

/* NULL: out of memory. */
static struct node *find_or_add_node(struct clv_places *places, const char *name)
{
	struct node **slot, *node;
	bool is_there;
	size_t at = search_node(places, name, &is_there);

	if (is_there)
		return places->nodes[at];
	node = calloc(1, sizeof(*node));
	slot = node ? CLV_APPEND(places->nodes, places->n_nodes) : NULL;
	if (!slot) {
		free(node);
		return NULL;
	}
	snprintf(node->name, sizeof(node->name), "%s", name);
	memmove(&places->nodes[at + 1], &places->nodes[at],
		(places->n_nodes - 1 - at) * sizeof(*slot));
	places->nodes[at] = node;
	return node;
}

/* --- Held room --- */

static void drop_held(struct clv_places *places, size_t at)
{
	places->held[at] = places->held[--places->n_held];
}

/* The annotation includes the pod once it has that much less free than when the room was
 * held. */
static bool is_announced(const struct held *held, const struct clv_single *device)
{
	return device->free_milli + held->milli <= held->then_free_milli;
}

static void subtract_held(const struct held *held, struct clv_single *device)
{
	device->free_milli -=
		held->milli < device->free_milli ? held->milli : device->free_milli;
	device->free_mib -= held->mib < device->free_mib ? held->mib : device->free_mib;
}

static struct clv_single *device_of(const struct held *held, struct node *node)
{
	return held->device < node->n ? &node->devices[held->device] : NULL;
}

/* Drops held room that the newly read figures of the node include, judged by the
 * unchanged figures, and then subtracts the rest from them. */
static void apply_held(struct clv_places *places, struct node *node)
{
	for (size_t i = places->n_held; i-- > 0;) {
		const struct held *held = &places->held[i];
		const struct clv_single *device = device_of(held, node);

		if (strcmp(held->node, node->name) == 0 &&
			(!device || is_announced(held, device)))
			drop_held(places, i);
	}
	for (size_t i = 0; i < places->n_held; i++) {
		if (strcmp(places->held[i].node, node->name) == 0)
			subtract_held(
				&places->held[i], device_of(&places->held[i], node));
	}
}

static void drop_expired(struct clv_places *places, uint64_t now_ns)
{
	for (size_t i = places->n_held; i-- > 0;) {
		if (places->held[i].until_ns <= now_ns)
			drop_held(places, i);
	}
}

/* The node announces: a pod that it does not include soon has failed. */
static void limit_held(
	struct clv_places *places, const struct node *node, uint64_t now_ns)
{
	for (size_t i = 0; i < places->n_held; i++) {
		struct held *held = &places->held[i];

		if (strcmp(held->node, node->name) == 0 &&
			held->until_ns > now_ns + CLV_PLACES_HELD_NS)
			held->until_ns = now_ns + CLV_PLACES_HELD_NS;
	}
}

/* Updates the nodes of a request and returns them in its order. */
static int read_nodes(struct clv_places *places, const json_t *nodes, uint64_t now_ns,
	struct node **ret)
{
	const json_t *object;
	size_t i;

	drop_expired(places, now_ns);
	json_array_foreach (nodes, i, object) {
		ret[i] = find_or_add_node(places, name_of(object));
		if (!ret[i])
			return -ENOMEM;
		/* Requests may overtake each other: an older object is stale. */
		if (version_of(object) < ret[i]->version)
			continue;
		ret[i]->version = version_of(object);
		if (read_devices(object, ret[i]))
			limit_held(places, ret[i], now_ns);
		apply_held(places, ret[i]);
	}
	return 0;
}

/* --- Judging --- */

/* The devices of all nodes in one array. */
struct judge {
	struct clv_singles *singles;
	size_t *first; /* by node: the index of its first device */
};

static void judge_done(struct judge *judge)
{
	clv_singles_free(judge->singles);
	free(judge->first);
}

static int judge_init(const struct clv_places *places, struct node *const *nodes,
	size_t n_nodes, struct judge *judge)
{
	uint64_t n_shapes =
		places->n_shapes < SHAPES_KEPT ? places->n_shapes : SHAPES_KEPT;
	_cleanup_free_ struct clv_single *devices = NULL;
	size_t n = 0;

	*judge = (struct judge){.first = calloc(n_nodes + 1, sizeof(*judge->first))};
	if (!judge->first)
		return -ENOMEM;
	for (size_t i = 0; i < n_nodes; i++) {
		judge->first[i] = n;
		n += nodes[i]->n;
	}
	devices = calloc(n + 1, sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < n_nodes; i++)
		memcpy(&devices[judge->first[i]], nodes[i]->devices,
			nodes[i]->n * sizeof(*devices));
	return clv_singles_new(devices, n, places->shapes, n_shapes, &judge->singles);
}

/* The places of a pod's containers on one node.  find_seats() takes and then releases
 * them, because each node is judged independently; the room of a container that ends
 * first is released for those behind it. */
struct seats {
	size_t devices[CLV_POD_CONTAINERS_MAX];              /* indexes in the node */
	struct clv_place_request on[CLV_POD_CONTAINERS_MAX]; /* the amounts there */
	size_t n;                                            /* containers that fit */
	int64_t score;                                       /* the sum */
};

/* What the containers that stay have on the device, among the first n. */
static struct clv_place_request add_up_staying(
	const struct clv_pod *pod, const struct seats *seats, size_t device, size_t n)
{
	struct clv_place_request sum = {0};

	for (size_t i = 0; i < n; i++) {
		if (seats->devices[i] != device || pod->ends_first[i])
			continue;
		sum.milli += seats->on[i].milli;
		sum.device_mib += seats->on[i].device_mib;
	}
	return sum;
}

static uint32_t excess_over(uint32_t have, uint32_t limit)
{
	return have > limit ? have - limit : 0;
}

/* A pod has on a device the most that its containers have at a time.  So of a container
 * that ends first only what the later ones, and earlier such containers, do not have is
 * added. */
static void keep_excess(const struct clv_pod *pod, struct seats *seats, size_t at)
{
	size_t device = seats->devices[at];
	struct clv_place_request *on = &seats->on[at];
	struct clv_place_request beside = add_up_staying(pod, seats, device, at);
	struct clv_place_request most = add_up_staying(pod, seats, device, seats->n);

	for (size_t i = 0; i < at; i++) {
		if (seats->devices[i] != device || !pod->ends_first[i])
			continue;
		most.milli += seats->on[i].milli;
		most.device_mib += seats->on[i].device_mib;
	}
	on->milli = (uint16_t)excess_over(beside.milli + on->milli, most.milli);
	on->device_mib = excess_over(beside.device_mib + on->device_mib, most.device_mib);
}

static void find_seats(const struct judge *judge, const struct node *node, size_t first,
	const struct clv_pod *pod, struct seats *ret)
{
	uint32_t leases[CLV_POD_CONTAINERS_MAX];
	size_t n_leases = 0;

	*ret = (struct seats){0};
	for (; ret->n < pod->n_requests; ret->n++) {
		const struct clv_place_request *request = &pod->requests[ret->n];
		int64_t score = 0;
		int at =
			clv_singles_find(judge->singles, first, node->n, request, &score);

		if (at < 0 || clv_singles_take(judge->singles, (size_t)at, request,
				      &leases[n_leases]) < 0)
			break;
		ret->on[ret->n] =
			clv_singles_complete(judge->singles, (size_t)at, request);
		ret->devices[ret->n] = (size_t)at - first;
		ret->score += score;
		if (pod->ends_first[ret->n])
			clv_singles_release(judge->singles, leases[n_leases]);
		else
			n_leases++;
	}
	while (n_leases > 0)
		clv_singles_release(judge->singles, leases[--n_leases]);
	for (size_t i = 0; i < ret->n; i++) {
		if (pod->ends_first[i])
			keep_excess(pod, ret, i);
	}
}

static void explain_misfit(const struct node *node, const struct clv_pod *pod,
	const struct seats *seats, char *ret, size_t ret_bytes)
{
	const struct clv_place_request *request = &pod->requests[seats->n];
	uint16_t most_milli = 0;
	uint32_t most_mib = 0;

	if (node->n == 0) {
		snprintf(ret, ret_bytes,
			"no device of the node takes shares of cleave now");
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		if (node->devices[i].free_milli > most_milli)
			most_milli = node->devices[i].free_milli;
		if (node->devices[i].free_mib > most_mib)
			most_mib = node->devices[i].free_mib;
	}
	snprintf(ret, ret_bytes,
		"no single device has %u hundredths and %u MiB free (most: %u "
		"hundredths, and %u MiB)",
		request->milli / 10, request->device_mib, most_milli / 10, most_mib);
}

static void remember(struct clv_places *places, const struct clv_pod *pod)
{
	for (size_t i = 0; i < PODS_KEPT; i++) {
		if (strcmp(places->pods[i].uid, pod->uid) == 0) {
			places->pods[i] = *pod;
			return;
		}
	}
	places->pods[places->n_pods++ % PODS_KEPT] = *pod;
	for (size_t i = 0; i < pod->n_requests; i++) {
		const struct clv_place_request *shape = &pod->requests[i];

		/* Without a share the request has no shape: its share depends on the
		 * device's memory. */
		if (shape->milli > 0)
			places->shapes[places->n_shapes++ % SHAPES_KEPT] = *shape;
	}
}

static void judge_node(const struct judge *judge, const struct node *node, size_t first,
	const struct clv_pod *pod, struct clv_verdict *ret)
{
	struct seats seats;

	*ret = (struct clv_verdict){0};
	find_seats(judge, node, first, pod, &seats);
	ret->fits = seats.n == pod->n_requests;
	ret->is_hopeless = !ret->fits && node->n == 0;
	ret->score = seats.score;
	if (!ret->fits)
		explain_misfit(node, pod, &seats, ret->reason, sizeof(ret->reason));
}

int clv_places_judge(struct clv_places *places, const json_t *objects,
	const struct clv_pod *pod, uint64_t now_ns, struct clv_verdict *verdicts,
	struct clv_error *err)
{
	size_t n = json_array_size(objects);
	_cleanup_free_ struct node **nodes = calloc(n + 1, sizeof(struct node *));
	struct judge judge = {0};
	int r = nodes ? read_nodes(places, objects, now_ns, nodes) : -ENOMEM;

	remember(places, pod);
	if (r >= 0)
		r = judge_init(places, nodes, n, &judge);
	for (size_t i = 0; r >= 0 && i < n; i++)
		judge_node(&judge, nodes[i], judge.first[i], pod, &verdicts[i]);
	judge_done(&judge);
	return r < 0 ? clv_error_errno(err, -r, "cannot judge the nodes") : 0;
}

/* --- Holding --- */

static const struct clv_pod *find_pod(const struct clv_places *places, const char *uid)
{
	for (size_t i = 0; uid[0] && i < PODS_KEPT; i++) {
		if (strcmp(places->pods[i].uid, uid) == 0)
			return &places->pods[i];
	}
	return NULL;
}

static void hold_seats(struct clv_places *places, const char *uid, struct node *node,
	const struct seats *seats, uint64_t now_ns)
{
	for (size_t i = 0; i < seats->n; i++) {
		struct clv_single *device = &node->devices[seats->devices[i]];
		struct held *held = &places->held[places->n_held++];

		*held = (struct held){
			.device = seats->devices[i],
			.mib = seats->on[i].device_mib,
			.milli = seats->on[i].milli,
			.until_ns = now_ns + CLV_PLACES_UNHEARD_NS,
			.then_free_milli = device->free_milli,
		};
		snprintf(held->uid, sizeof(held->uid), "%s", uid);
		snprintf(held->node, sizeof(held->node), "%s", node->name);
		device->free_milli -= held->milli;
		device->free_mib -= held->mib;
	}
}

int clv_places_hold(struct clv_places *places, const char *uid, const char *node_name,
	uint64_t now_ns, struct clv_error *err)
{
	const struct clv_pod *pod = find_pod(places, uid);
	struct node *node = find_node(places, node_name);
	struct judge judge = {0};
	struct seats seats;
	int r;

	if (!pod || !node)
		return clv_error_set(err, -ENOENT,
			"%s was not judged here: let the scheduler try again",
			pod ? "the node" : "the pod");
	if (places->n_held + pod->n_requests > HELD_MAX)
		return clv_error_set(
			err, -ENOSPC, "too many pods are being started: try again");
	clv_places_release(places, uid);
	r = judge_init(places, &node, 1, &judge);
	if (r >= 0)
		find_seats(&judge, node, 0, pod, &seats);
	judge_done(&judge);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot judge the node");
	if (seats.n < pod->n_requests) {
		char why[128];

		explain_misfit(node, pod, &seats, why, sizeof(why));
		return clv_error_set(err, -ENOSPC, "%s: %s", node_name, why);
	}
	hold_seats(places, uid, node, &seats, now_ns);
	return 0;
}

void clv_places_release(struct clv_places *places, const char *uid)
{
	for (size_t i = places->n_held; i-- > 0;) {
		const struct held *held = &places->held[i];
		struct node *node = find_node(places, held->node);

		if (strcmp(held->uid, uid) != 0)
			continue;
		if (node && held->device < node->n) {
			node->devices[held->device].free_milli += held->milli;
			node->devices[held->device].free_mib += held->mib;
		}
		drop_held(places, i);
	}
}
