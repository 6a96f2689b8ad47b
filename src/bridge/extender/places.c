/* SPDX-License-Identifier: Apache-2.0 */
/* Judges nodes with core/place, each device of a node as a node of core's fleet, and
 * holds room for bound pods. */
#include "bridge/extender/places.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/extender/places-internal.h"
#include "core/place/singles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clv_places *clv_places_new(void)
{
	return calloc(1, sizeof(struct clv_places));
}

struct clv_places *clv_places_free(struct clv_places *places)
{
	if (!places)
		return NULL;
	clv_places_begin_list(places);
	clv_places_end_list(places);
	free(places->nodes);
	free(places->bound);
	free(places);
	return NULL;
}

/* Finds the node of an item of a request: an object, whose announcement is read, or a
 * name. */
static int find_or_read_node(struct clv_places *places, const json_t *item,
	uint64_t now_ns, struct clv_places_node **ret)
{
	const char *name = json_string_value(item);

	*ret = name ? clv_places_find_node(places, name)
		    : clv_places_read_node(places, item, now_ns);
	return *ret || name ? 0 : -ENOMEM;
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

static int judge_init(const struct clv_places *places,
	struct clv_places_node *const *nodes, size_t n_nodes, struct judge *judge)
{
	uint64_t n_shapes = places->n_shapes < CLV_PLACES_SHAPES ? places->n_shapes
								 : CLV_PLACES_SHAPES;
	_cleanup_free_ struct clv_single *devices = NULL;
	size_t n = 0;

	*judge = (struct judge){.first = calloc(n_nodes + 1, sizeof(*judge->first))};
	if (!judge->first)
		return -ENOMEM;
	for (size_t i = 0; i < n_nodes; i++) {
		judge->first[i] = n;
		n += nodes[i] ? nodes[i]->n : 0;
	}
	devices = calloc(n + 1, sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < n_nodes; i++) {
		for (size_t k = 0; nodes[i] && k < nodes[i]->n; k++)
			devices[judge->first[i] + k] = nodes[i]->devices[k].left;
	}
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

static void find_seats(const struct judge *judge, const struct clv_places_node *node,
	size_t first, const struct clv_pod *pod, struct seats *ret)
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

/* The most that is free on one device of the node, of each separately. */
struct most {
	unsigned hundredths, mib, memory_hundredths;
};

static void raise_to(unsigned *most, unsigned value)
{
	if (*most < value)
		*most = value;
}

static struct most find_most(const struct clv_places_node *node)
{
	struct most most = {0};

	for (size_t i = 0; i < node->n; i++) {
		const struct clv_single *left = &node->devices[i].left;

		raise_to(&most.hundredths, left->free_milli / 10u);
		raise_to(&most.mib, left->free_mib);
		if (left->memory_mib > 0)
			raise_to(&most.memory_hundredths,
				(unsigned)(UINT64_C(100) * left->free_mib /
					   left->memory_mib));
	}
	return most;
}

/* A request for share or memory alone gets as much of the other. */
static void explain_misfit(const struct clv_places_node *node, const struct clv_pod *pod,
	const struct seats *seats, char *ret, size_t ret_bytes)
{
	const struct clv_place_request *request = &pod->requests[seats->n];
	unsigned hundredths = request->milli / 10u;
	struct most most = find_most(node);

	if (node->n == 0)
		snprintf(ret, ret_bytes,
			"no device of the node takes shares of cleave now");
	else if (request->device_mib == 0)
		snprintf(ret, ret_bytes,
			"no single device has %u hundredths of its compute and memory "
			"free (most: %u hundredths, and %u of memory)",
			hundredths, most.hundredths, most.memory_hundredths);
	else if (request->milli == 0)
		snprintf(ret, ret_bytes,
			"no single device has %u MiB and as much of its compute free "
			"(most: %u MiB, and %u hundredths)",
			request->device_mib, most.mib, most.hundredths);
	else
		snprintf(ret, ret_bytes,
			"no single device has %u hundredths and %u MiB free (most: %u "
			"hundredths, and %u MiB)",
			hundredths, request->device_mib, most.hundredths, most.mib);
}

static void remember(struct clv_places *places, const struct clv_pod *pod)
{
	for (size_t i = 0; i < CLV_PLACES_PODS; i++) {
		if (strcmp(places->pods[i].uid, pod->uid) == 0) {
			places->pods[i] = *pod;
			return;
		}
	}
	places->pods[places->n_pods++ % CLV_PLACES_PODS] = *pod;
	for (size_t i = 0; i < pod->n_requests; i++) {
		const struct clv_place_request *shape = &pod->requests[i];

		/* Without a share the request has no shape: its share depends on the
		 * device's memory. */
		if (shape->milli > 0)
			places->shapes[places->n_shapes++ % CLV_PLACES_SHAPES] = *shape;
	}
}

static void judge_node(const struct judge *judge, const struct clv_places_node *node,
	size_t first, const struct clv_pod *pod, struct clv_verdict *ret)
{
	struct seats seats;

	*ret = (struct clv_verdict){0};
	if (!node) {
		snprintf(ret->reason, sizeof(ret->reason),
			"the API server has not told cleave-extender of the node yet");
		return;
	}
	find_seats(judge, node, first, pod, &seats);
	ret->fits = seats.n == pod->n_requests;
	ret->is_hopeless = !ret->fits && node->n == 0;
	ret->score = seats.score;
	if (!ret->fits)
		explain_misfit(node, pod, &seats, ret->reason, sizeof(ret->reason));
}

int clv_places_judge(struct clv_places *places, const json_t *items,
	const struct clv_pod *pod, uint64_t now_ns, struct clv_verdict *verdicts,
	struct clv_error *err)
{
	size_t n = json_array_size(items);
	_cleanup_free_ struct clv_places_node **nodes =
		calloc(n + 1, sizeof(struct clv_places_node *));
	struct judge judge = {0};
	int r = nodes ? 0 : -ENOMEM;

	clv_places_drop_expired(places, now_ns);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = find_or_read_node(
			places, json_array_get(items, i), now_ns, &nodes[i]);
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
	for (size_t i = 0; uid[0] && i < CLV_PLACES_PODS; i++) {
		if (strcmp(places->pods[i].uid, uid) == 0)
			return &places->pods[i];
	}
	return NULL;
}

static void hold_seats(struct clv_places *places, const char *uid,
	struct clv_places_node *node, const struct seats *seats, uint64_t now_ns)
{
	for (size_t i = 0; i < seats->n; i++) {
		const struct clv_places_device *device =
			&node->devices[seats->devices[i]];
		struct clv_places_held held = {
			.mib = seats->on[i].device_mib,
			.milli = seats->on[i].milli,
			.until_ns = now_ns + CLV_PLACES_UNHEARD_NS,
			.then_free_milli = device->left.free_milli,
			.container = (uint8_t)i,
		};

		snprintf(held.uid, sizeof(held.uid), "%s", uid);
		snprintf(held.node, sizeof(held.node), "%s", node->name);
		snprintf(held.device, sizeof(held.device), "%s", device->name);
		clv_places_add_held(places, &held);
		clv_places_recount(places, node);
	}
}

int clv_places_hold(struct clv_places *places, const char *uid, const char *node_name,
	uint64_t now_ns, struct clv_error *err)
{
	const struct clv_pod *pod = find_pod(places, uid);
	struct clv_places_node *node = clv_places_find_node(places, node_name);
	struct judge judge = {0};
	struct seats seats;
	int r;

	if (!pod || !node)
		return clv_error_set(err, -ENOENT,
			"%s was not judged here: let the scheduler try again",
			pod ? "the node" : "the pod");
	if (places->n_held + pod->n_requests > CLV_PLACES_HELD_MAX)
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
	if (!clv_places_know(places, uid))
		return clv_error_errno(err, ENOMEM, "cannot hold the pod's room");
	hold_seats(places, uid, node, &seats, now_ns);
	return 0;
}
