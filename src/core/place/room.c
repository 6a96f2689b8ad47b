/* SPDX-License-Identifier: Apache-2.0 */
/* The price of the room for a request is its size times the probability that more such
 * requests come than there is room for.  Expected are as many as the class has in the mix
 * of requests that would fill what is free; their number varies as a Poisson number does,
 * and twice that is assumed, because the mix is an estimate. */
#include "core/place/room.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The workload that a placer begins with counts as this many requests. */
#define PRIOR 512.0
/* When so many came, all count half. */
#define REMEMBERED 16384.0
#define CHOOSE_EVERY 256
#define SIGMAS 2.0
/* Prices have so many levels, and change by three quarters of one at least, so that
 * cached scores are valid for long. */
#define LEVELS 16
#define LEAST_CHANGE 0.75
/* Classes of one device for each doubling of processors. */
#define STEPS 2
/* Shares are of different sizes, so that their sum varies more than that of equal ones.
 */
#define SHARES_VARY 1.5

static struct clv_room_class *class_of(
	struct clv_room *room, uint64_t kinds, uint8_t n_devices, uint8_t cpu_step)
{
	struct clv_room_class *least = room->counted;

	for (unsigned i = 0; i < room->n_counted; i++) {
		struct clv_room_class *class = &room->counted[i];

		if (class->kinds == kinds && class->n_devices == n_devices &&
			class->cpu_step == cpu_step)
			return class;
		if (class->milli < least->milli)
			least = class;
	}
	if (room->n_counted < CLV_ROOM_COUNTED_MAX)
		least = &room->counted[room->n_counted++];
	else
		room->is_chosen = false;
	*least = (struct clv_room_class){
		.kinds = kinds, .n_devices = n_devices, .cpu_step = cpu_step};
	return least;
}

static void add_want(struct clv_room *room, uint64_t models, double milli)
{
	struct clv_room_want *want = room->wants, *end = want + room->n_wants;

	while (want < end && want->models != models)
		want++;
	if (want == end && room->n_wants == CLV_ROOM_WANTS_MAX)
		return;
	if (want == end)
		room->wants[room->n_wants++] = (struct clv_room_want){.models = models};
	want->milli += milli;
}

static void add(struct clv_room *room, const struct clv_place_request *request, double n)
{
	double milli = n * request->milli * request->n_devices;
	struct clv_room_class *class;
	uint8_t cpu_step = 0;
	uint64_t kinds;

	room->n += n;
	room->milli += milli;
	room->all_cpu_milli += n * request->cpu_milli;
	if (request->n_devices == 0 || milli == 0)
		return;
	room->cpu_milli += n * request->cpu_milli;
	if (request->models)
		add_want(room, request->models, milli);
	kinds = clv_kinds_for(&room->kinds, request);
	if (kinds == 0 || (request->n_devices == 1 && !request->models))
		return;
	if (request->n_devices == 1 && request->cpu_milli > 0)
		cpu_step = (uint8_t)(STEPS * log2(request->cpu_milli));
	class = class_of(room, kinds, request->n_devices, cpu_step);
	class->n += n;
	class->cpu_milli += n * request->cpu_milli;
	class->memory_mib += n * request->memory_mib;
	class->milli += milli;
}

size_t clv_room_bytes(const struct clv_fleet *fleet)
{
	return fleet->n_nodes *
	       (CLV_ROOM_CLASSES_MAX * sizeof(uint16_t) + sizeof(uint32_t) + 1);
}

int clv_room_init(struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_workload *workload)
{
	*room = (struct clv_room){.n_held = fleet->n_held, .lasting = 1, .weight = 10};
	room->rooms = calloc(
		(size_t)fleet->n_nodes * CLV_ROOM_CLASSES_MAX + 1, sizeof(*room->rooms));
	room->free_cpu_milli =
		calloc((size_t)fleet->n_nodes + 1, sizeof(*room->free_cpu_milli));
	if (!room->rooms || !room->free_cpu_milli ||
		clv_kinds_init(&room->kinds, fleet) < 0) {
		clv_room_done(room);
		return -ENOMEM;
	}
	for (size_t i = 0; i < workload->n_shapes && fleet->n_nodes > 0; i++) {
		const struct clv_workload_shape *shape = &workload->shapes[i];
		struct clv_place_request request = {
			.models = shape->models,
			.cpu_milli = shape->cpu_milli,
			.milli = shape->milli,
			.n_devices = shape->n_devices,
		};

		if (!shape->profile)
			add(room, &request,
				PRIOR * shape->weight / (double)(workload->weight + 1));
	}
	return 0;
}

void clv_room_done(struct clv_room *room)
{
	clv_kinds_done(&room->kinds);
	free(room->rooms);
	free(room->free_cpu_milli);
	*room = (struct clv_room){0};
}

static void halve(struct clv_room *room)
{
	room->n /= 2;
	room->milli /= 2;
	room->cpu_milli /= 2;
	room->all_cpu_milli /= 2;
	for (unsigned i = 0; i < room->n_wants; i++)
		room->wants[i].milli /= 2;
	for (unsigned i = 0; i < room->n_counted; i++) {
		struct clv_room_class *class = &room->counted[i];

		class->n /= 2;
		class->cpu_milli /= 2;
		class->memory_mib /= 2;
		class->milli /= 2;
	}
}

void clv_room_come(struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_place_request *request)
{
	if (request->profile)
		return;
	if (room->n >= REMEMBERED)
		halve(room);
	add(room, request, 1);
	if (++room->n_since >= CHOOSE_EVERY + fleet->n_nodes / 16)
		room->is_chosen = false;
}

void clv_room_placed(struct clv_room *room)
{
	room->n_placed++;
}

/* Room for the class in these free amounts. */
static unsigned room_in(const struct clv_room_class *class, uint32_t cpu_milli,
	uint32_t memory_mib, uint32_t milli, unsigned n_whole)
{
	uint64_t n = cpu_milli / class->cpu_each;

	if (class->n_devices == 1) {
		n *= class->milli_each;
		return n < milli ? (unsigned)n : milli;
	}
	if (memory_mib / class->memory_each < n)
		n = memory_mib / class->memory_each;
	return n < n_whole / class->n_devices ? (unsigned)n : n_whole / class->n_devices;
}

static void count_node(
	struct clv_room *room, const struct clv_fleet *fleet, uint32_t number)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];
	uint16_t *rooms = &room->rooms[(size_t)number * CLV_ROOM_CLASSES_MAX];

	room->left_cpu_milli +=
		(double)node->free_cpu_milli - room->free_cpu_milli[number];
	room->free_cpu_milli[number] = node->free_cpu_milli;
	for (unsigned i = 0; i < room->n_followed; i++) {
		struct clv_room_class *class = &room->counted[room->followed[i]];
		bool can = class->kinds >> room->kinds.of[number] & 1 && !node->is_lost;
		unsigned n =
			can ? room_in(class, node->free_cpu_milli, node->free_memory_mib,
				      node->free_milli, node->n_whole)
			    : 0;

		class->room += (double)n - rooms[i];
		rooms[i] = (uint16_t)n;
	}
}

/* Room that the class needs for each request that comes: for its own requests, and for
 * those that can go nowhere else. */
static double needed(const struct clv_room *room, const struct clv_room_class *class)
{
	double sum = 0;

	for (unsigned i = 0; i < room->n_counted; i++) {
		const struct clv_room_class *other = &room->counted[i];

		if (other->kinds & ~class->kinds)
			continue;
		if (class->n_devices == 1)
			sum += other->n_devices == 1 && other->cpu_step >= class->cpu_step
				       ? other->milli
				       : 0;
		else if (other->n_devices >= class->n_devices)
			sum += other->n * (other->n_devices / class->n_devices);
	}
	return sum / room->n;
}

/* Means that differ by little are not followed, because each change makes cached scores
 * invalid. */
static uint32_t each(double sum, double n, uint32_t before)
{
	double mean = sum >= n ? sum / n : 1;

	return fabs(mean - before) * 16 < before ? before : (uint32_t)mean;
}

/* The part of the empty fleet's room that the class would need if the fleet were filled
 * once. */
static double scarcity(struct clv_room *room, const struct clv_fleet *fleet,
	struct clv_room_class *class)
{
	double all = (double)fleet->milli * room->n / (room->milli + 1), empty = 0.1;

	class->cpu_each = each(class->cpu_milli, class->n, class->cpu_each);
	class->memory_each = each(class->memory_mib, class->n, class->memory_each);
	class->milli_each = each(class->milli, class->n, class->milli_each);
	for (unsigned i = 0; i < room->kinds.n; i++) {
		const struct clv_kind *kind = &room->kinds.items[i];

		if (class->kinds >> i & 1)
			empty += (double)kind->n_nodes *
				 room_in(class, kind->cpu_milli, kind->memory_mib,
					 kind->n_devices * CLV_PLACE_WHOLE,
					 kind->n_devices);
	}
	return all * needed(room, class) / empty;
}

static void choose_classes(struct clv_room *room, const struct clv_fleet *fleet)
{
	double scarcities[CLV_ROOM_COUNTED_MAX];

	for (unsigned i = 0; i < room->n_counted; i++)
		scarcities[i] = scarcity(room, fleet, &room->counted[i]);
	room->n_followed = 0;
	while (room->n_followed < CLV_ROOM_CLASSES_MAX &&
		room->n_followed < room->n_counted) {
		unsigned best = 0;

		for (unsigned i = 1; i < room->n_counted; i++)
			best = scarcities[i] > scarcities[best] ? i : best;
		scarcities[best] = -1;
		room->followed[room->n_followed++] = (uint8_t)best;
	}
	for (unsigned i = 0; i < room->n_followed; i++)
		room->counted[room->followed[i]].room = 0;
	memset(room->rooms, 0,
		(size_t)fleet->n_nodes * CLV_ROOM_CLASSES_MAX * sizeof(*room->rooms));
	for (uint32_t i = 0; i < fleet->n_nodes; i++)
		count_node(room, fleet, i);
	room->is_chosen = true;
	room->n_since = 0;
	room->n_chosen++;
}

/* What is wrong with a node stays for ever if no lease ends.  Where as many end as come,
 * the node is soon divided in another way, and a tenth of the cost is left to break
 * ties. */
static void weigh(struct clv_room *room, const struct clv_fleet *fleet)
{
	double grown = (double)fleet->n_held - room->n_held;
	unsigned weight;

	if (room->n_placed < CHOOSE_EVERY / 4)
		return;
	grown = grown < 0 ? 0 : grown / room->n_placed;
	room->lasting = (room->lasting + (grown > 1 ? 1 : grown)) / 2;
	room->n_placed = 0;
	room->n_held = fleet->n_held;
	weight = (unsigned)lround(10 * room->lasting);
	room->weight = weight > 1 ? weight : 1;
}

/* The probability that the class needs more than its room before the fleet is full. */
static double risk(
	const struct clv_room *room, const struct clv_room_class *class, double n_left)
{
	double unit = class->n_devices == 1 ? SHARES_VARY * class->milli_each : 1;
	double expected = n_left * needed(room, class);
	double sigma = SIGMAS * sqrt((expected + unit) * unit);
	double p = 0.5 * erfc((class->room - expected) / sigma / M_SQRT2);

	/* Of shares the fluctuation matters less than that the rest is enough: they take
	 * what is left on devices. */
	if (class->n_devices == 1)
		return p < 0.5 ? 0 : 2 * p - 1;
	return p;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* Requests that come before the devices or the processors of the fleet are used up. */
static double count_left(const struct clv_room *room, const struct clv_fleet *fleet)
{
	double milli = (double)(fleet->milli - fleet->held_milli);
	double by_devices = milli * room->n / (room->milli + 1);
	double by_cpu = room->left_cpu_milli * room->n / (room->all_cpu_milli + 1);

	return room->all_cpu_milli > 0 && by_cpu < by_devices ? by_cpu : by_devices;
}

static void set_prices(struct clv_room *room, const struct clv_fleet *fleet)
{
	double n_left = count_left(room, fleet);
	uint64_t version = mix(room->n_followed + 1, room->weight);

	room->n_priced = 0;
	for (unsigned i = 0; i < room->n_followed; i++) {
		struct clv_room_class *class = &room->counted[room->followed[i]];
		double price = risk(room, class, n_left);

		if (fabs(price - class->price) * LEVELS >= LEAST_CHANGE)
			class->price = round(price * LEVELS) / LEVELS;
		if (class->price == 0)
			continue;
		room->priced[room->n_priced++] = (uint8_t)i;
		version = mix(version, class->kinds);
		version = mix(version, (uint64_t) class->cpu_each << 32 |
					       (uint64_t) class->memory_each << 8 |
					       class->n_devices);
		version = mix(version,
			(uint64_t)(class->price * LEVELS) << 32 | class->milli_each);
	}
	room->version = version;
}

void clv_room_update(struct clv_room *room, const struct clv_fleet *fleet)
{
	const struct clv_fleet_log *log = &fleet->log;

	if (room->is_chosen && room->n_seen == log->n_changes)
		return;
	if (!room->is_chosen) {
		weigh(room, fleet);
		choose_classes(room, fleet);
	} else if (log->n_changes - room->n_seen > log->mask) {
		choose_classes(room, fleet);
	} else {
		for (uint64_t i = room->n_seen; i < log->n_changes; i++)
			count_node(room, fleet, log->nodes[i & log->mask]);
	}
	room->n_seen = log->n_changes;
	set_prices(room, fleet);
}

int64_t clv_room_cost(const struct clv_room *room, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_room_use *use)
{
	uint32_t number = (uint32_t)(node - fleet->nodes);
	const uint16_t *rooms = &room->rooms[(size_t)number * CLV_ROOM_CLASSES_MAX];
	double cost = 0;

	for (unsigned i = 0; i < room->n_priced; i++) {
		unsigned at = room->priced[i];
		const struct clv_room_class *class = &room->counted[room->followed[at]];
		unsigned after;

		if (rooms[at] == 0)
			continue;
		after = room_in(class, node->free_cpu_milli - use->cpu_milli,
			node->free_memory_mib - use->memory_mib,
			node->free_milli - use->milli, node->n_whole - use->n_whole);
		if (after >= rooms[at])
			continue;
		cost += class->price * (rooms[at] - after) *
			(class->n_devices == 1 ? 1 : class->n_devices * CLV_PLACE_WHOLE);
	}
	return (int64_t)cost;
}
