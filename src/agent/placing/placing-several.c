/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the devices of a lease on several devices: all alike, each of them whole, as
 * near to each other as possible; core/place chooses where there is a choice
 * (placing-best.c).  Partitions are taken from several devices only if one device does
 * not have enough. */
#include "agent/placing/placing-internal.h"

#include "agent/device/devices.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Schemes of whose partitions a program can use only one. */
static const struct {
	const char *scheme, *why;
} alone[] = {
	{"mig", "CUDA shows a process one MIG instance and no more: ask for a larger "
		"profile, or start a process for each instance with a lease of its own"},
	{"cores",
		"sets of processors of one device make one larger set: ask for that, as "
		"cores:4"},
	{"vf", "a virtual function is the device of one virtual machine: request one"},
};

struct several {
	struct clv_placing_option *items;
	size_t n;
	uint32_t wanted;
	bool is_same_device;
};

/* A set of devices around one of them, and the sum of their distances from it. */
struct choice {
	struct clv_agent_device *devices[CLV_LEASE_DEVICES_MAX];
	uint32_t n, distance;
};

enum nearness {
	ELSEWHERE,
	SAME_DEVICE,
	SAME_NODE, /* the same device and NUMA node */
	SAME_DIE,  /* and the same I/O die, as far as is known */
	_NEARNESS_MAX,
};

static enum nearness nearness(struct clv_agent_device *a, struct clv_agent_device *b)
{
	if (clv_devices_root(a) != clv_devices_root(b))
		return ELSEWHERE;
	if (a->numa_node != b->numa_node)
		return SAME_DEVICE;
	return a->io_die == b->io_die ? SAME_DIE : SAME_NODE;
}

static const char *why_alone(const struct clv_agent_device *device)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(alone); i++) {
		if (strcmp(alone[i].scheme, device->info.scheme) == 0)
			return alone[i].why;
	}
	return NULL;
}

/* Collects the candidates; fails if there are none. */
static int collect(struct clv_agent *agent, const struct clv_lease_request *request,
	struct several *ret, struct clv_error *err)
{
	const char *refusal = NULL;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		const char *why = why_alone(device);
		struct clv_placing_option *item = &ret->items[ret->n];

		if (!clv_placing_is_candidate(agent, device, request))
			continue;
		refusal = why ? why : refusal;
		if (why || clv_share_resolve(&request->share, device->info.memory_bytes,
				   &item->share, err) < 0)
			continue;
		item->device = device;
		item->is_open = clv_placing_try(agent, device, &item->share, false,
					&item->promised, NULL) >= 0;
		ret->n++;
	}
	if (ret->n > 0)
		return 0;
	if (refusal)
		return clv_error_set(err, -EINVAL,
			"%u of these in one lease are of no use: %s", request->count,
			refusal);
	return clv_placing_fail_without_device(agent, request, err);
}

static void add_near(const struct several *several, struct clv_agent_device *first,
	enum nearness near, bool must_be_free, struct choice *choice)
{
	for (size_t i = 0; i < several->n && choice->n < several->wanted; i++) {
		struct clv_agent_device *device = several->items[i].device;

		if (nearness(first, device) != near ||
			!clv_placing_are_alike(first, device) ||
			(must_be_free && !several->items[i].is_open))
			continue;
		choice->devices[choice->n++] = device;
		choice->distance += _NEARNESS_MAX - near;
	}
}

/* Whether the item differs from the one before it; alike items in a row give the same
 * choice. */
static bool begins_group(const struct several *several, size_t i)
{
	return i == 0 ||
	       nearness(several->items[i - 1].device, several->items[i].device) !=
		       SAME_DIE ||
	       !clv_placing_are_alike(
		       several->items[i - 1].device, several->items[i].device);
}

/* Chooses the most devices and, of equally many, the nearest to each other. */
static struct choice choose(const struct several *several, bool must_be_free)
{
	struct choice best = {0};

	for (size_t i = 0; i < several->n; i++) {
		struct choice choice = {0};
		int last = several->is_same_device ? SAME_DEVICE : ELSEWHERE;

		if (!begins_group(several, i))
			continue;
		for (int near = SAME_DIE; near >= last; near--)
			add_near(several, several->items[i].device, (enum nearness)near,
				must_be_free, &choice);
		if (choice.n > best.n ||
			(choice.n == best.n && choice.distance < best.distance))
			best = choice;
	}
	return best;
}

/* Chooses among the devices that are free now: by core/place, else what can be
 * gathered. */
static struct choice choose_now(
	const struct clv_agent *agent, const struct several *several)
{
	struct clv_placing_goal wish = {
		several->items, several->n, several->wanted, several->is_same_device};
	struct choice choice = {.n = several->wanted};
	size_t at[CLV_LEASE_DEVICES_MAX];

	if (clv_placing_best(agent, &wish, at) < 0)
		return choose(several, true);
	for (uint32_t i = 0; i < choice.n; i++)
		choice.devices[i] = several->items[at[i]].device;
	return choice;
}

static int fail_short(
	const struct several *several, uint32_t n, bool are_busy, struct clv_error *err)
{
	const char *where = several->is_same_device ? " on one device" : "";

	if (are_busy)
		return clv_error_set(err, -EBUSY,
			"%u alike are wanted%s and %u are free now: wait with --wait, or "
			"see who holds them with cleave ps",
			several->wanted, where, n);
	return clv_error_set(err, -ERANGE,
		"%u alike are wanted%s and there are %u: see cleave devices",
		several->wanted, where, n);
}

static int claim(struct clv_agent *agent, const struct clv_lease_request *request,
	const struct choice *choice, struct clv_placing *ret, struct clv_error *err)
{
	int r = 0;

	assert(choice->n > 1 && choice->n <= CLV_LEASE_DEVICES_MAX);
	for (uint32_t i = 0; i < choice->n && r >= 0; i++)
		r = clv_devices_claim(agent->devices, choice->devices[i], err);
	if (r < 0)
		return r;
	ret->device = choice->devices[0];
	ret->n_others = choice->n - 1;
	memcpy(ret->others, &choice->devices[1], ret->n_others * sizeof(ret->others[0]));
	return clv_share_resolve(
		&request->share, ret->device->info.memory_bytes, &ret->share, err);
}

int clv_placing_choose_several(struct clv_agent *agent,
	const struct clv_lease_request *request, struct clv_placing *ret,
	struct clv_error *err)
{
	_cleanup_free_ struct clv_placing_option *items =
		calloc(clv_devices_count(agent->devices) + 1, sizeof(*items));
	struct several several = {.items = items,
		.wanted = request->count,
		.is_same_device = request->is_same_device};
	struct choice now, possible;
	int r;

	assert(request->count > 1 && request->count <= CLV_LEASE_DEVICES_MAX);
	if (!items)
		return clv_error_errno(err, ENOMEM, "cannot choose devices");
	r = collect(agent, request, &several, err);
	if (r < 0)
		return r;
	now = choose_now(agent, &several);
	if (now.n == request->count)
		return claim(agent, request, &now, ret, err);
	possible = choose(&several, false);
	if (possible.n < request->count)
		return fail_short(&several, possible.n, false, err);
	if (!request->wait)
		return fail_short(&several, now.n, true, err);
	ret->must_wait = true;
	return claim(agent, request, &possible, ret, err);
}
