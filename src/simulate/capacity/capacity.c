/* SPDX-License-Identifier: Apache-2.0 */
/* The search begins with first-fit on more nodes than are needed: the nodes that it uses
 * are a fleet that suffices.  It does so once for each kind, with this one first in the
 * fleet.  From the cheapest of these fleets it takes nodes away, and exchanges nodes for
 * cheaper ones, in steps that become smaller, as long as the trace is still accepted. The
 * number of replays is bounded and no time is measured, so that the result depends on the
 * input alone. */
#include "simulate/capacity/capacity.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/place/policy.h"
#include "simulate/capacity/demand.h"
#include "simulate/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for what does not fit together, beyond the demand. */
#define AMPLE 1.5
#define AMPLE_NODES 16
/* Fleets that are tried together. */
#define BATCH_MAX 64
/* First fleets from which the search goes on, each with an equal part of the replays. */
#define STARTS_MAX 3
/* Nodes of another kind that take the place of one or two, at the end. */
#define FEW_MAX 4

/* Numbers of nodes, by kind. */
struct counts {
	uint32_t n[CLV_CAPACITY_KINDS_MAX];
};

struct search {
	const struct clv_capacity_search *asked;
	struct clv_runs learned; /* without runs */
	struct counts best, now; /* now: from which the search goes on */
	double best_cost;        /* 0: nothing suffices yet */
	double now_cost;
	double accepted; /* of the best */
	unsigned n_trials;
	unsigned trials_end; /* of the present descent */
};

static double cost_of(const struct search *search, const struct counts *counts)
{
	double cost = 0;

	for (size_t i = 0; i < search->asked->n_kinds; i++)
		cost += counts->n[i] * search->asked->kinds[i].price;
	return cost;
}

/* Adds a model of another fleet, with its speed. */
static int add_model(
	struct clv_fleet *fleet, const struct clv_fleet *like, const char *name)
{
	int model = clv_fleet_model(fleet, name);
	int known = clv_fleet_find_model(like, name);

	if (model < 0)
		return -ENOMEM;
	if (known >= 0)
		fleet->speeds[model] = like->speeds[known];
	return 0;
}

/* A fleet with the kinds in this order; models have the same numbers in all fleets. */
static int make_fleet(const struct search *search, const struct counts *counts,
	const size_t *order, struct clv_fleet **ret, struct clv_error *err)
{
	const struct clv_capacity_search *asked = search->asked;
	struct clv_fleet *fleet = clv_fleet_new();
	int r = fleet ? 0 : clv_error_errno(err, ENOMEM, "cannot create a fleet");

	for (uint32_t i = 0; r == 0 && i < asked->fleet->n_schemes; i++)
		r = clv_fleet_add_scheme(fleet, &asked->fleet->schemes[i]) < 0 ? -ENOMEM
									       : 0;
	for (size_t i = 0; r == 0 && i < asked->n_kinds; i++)
		r = add_model(fleet, asked->fleet, asked->kinds[i].spec.model);
	for (size_t i = 0; r == 0 && i < asked->n_kinds; i++) {
		size_t kind = order ? order[i] : i;

		for (uint32_t k = 0; r == 0 && k < counts->n[kind]; k++)
			r = clv_fleet_add_node(fleet, &asked->kinds[kind].spec, err);
	}
	if (r < 0) {
		clv_fleet_free(fleet);
		return r;
	}
	*ret = fleet;
	return 0;
}

struct ticker {
	const struct search *search;
};

static void tick(void *userdata, double part)
{
	const struct search *search = ((const struct ticker *)userdata)->search;

	if (search->asked->trying)
		search->asked->trying(search->asked->userdata, search->n_trials,
			part < 1 ? part : 1, search->best_cost);
}

/* Plays runs, whose fleets are made. */
static int play(struct search *search, struct clv_runs *runs, struct clv_error *err)
{
	struct ticker ticker = {search};

	search->n_trials += (unsigned)runs->n_runs;
	return clv_runs_play(runs, tick, &ticker, err);
}

static void drop(struct clv_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		clv_replay_free(runs[i].replay);
		clv_fleet_free(runs[i].fleet);
	}
}

static double accepted_by(const struct clv_run *run)
{
	const struct clv_replay_counts *counts = clv_replay_counts(run->replay);

	return run->gave_up ? 0 : (double)counts->placed / (double)counts->arrived;
}

/* Plays candidates together: the part of the trace that each accepts, 0 if it is less
 * than the target. */
static int try_all(struct search *search, const struct counts *candidates, size_t n,
	double *ret_accepted, struct clv_error *err)
{
	struct clv_run runs[BATCH_MAX] = {0};
	struct clv_runs trial = search->learned;
	int r = 0;

	trial.runs = runs;
	trial.n_runs = n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		runs[i].policy = search->asked->policy;
		r = make_fleet(search, &candidates[i], NULL, &runs[i].fleet, err);
	}
	if (r == 0 && n > 0)
		r = play(search, &trial, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		ret_accepted[i] = accepted_by(&runs[i]);
		if (ret_accepted[i] < search->asked->accepted)
			ret_accepted[i] = 0;
	}
	drop(runs, n);
	return r;
}

/* Goes on from the cheapest candidate that suffices if it is cheaper.  Returns 1; 0: none
 * is; or an error. */
static int step_to_best(struct search *search, const struct counts *candidates, size_t n,
	struct clv_error *err)
{
	double accepted[BATCH_MAX];
	int r = try_all(search, candidates, n, accepted, err), found = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		double cost = cost_of(search, &candidates[i]);

		if (accepted[i] <= 0 || cost >= search->now_cost - 1e-9)
			continue;
		search->now = candidates[i];
		search->now_cost = cost;
		found = 1;
		if (search->best_cost > 0 && cost >= search->best_cost - 1e-9)
			continue;
		search->best = candidates[i];
		search->best_cost = cost;
		search->accepted = accepted[i];
	}
	return r < 0 ? r : found;
}

static bool may_go_on(const struct search *search)
{
	return search->n_trials < search->trials_end;
}

/* --- the first fleets --- */

/* The price of a device, or of a processor where there is none. */
static double price_of_use(const struct clv_capacity_kind *kind)
{
	return kind->spec.n_devices ? kind->price / kind->spec.n_devices
				    : kind->price * 1000 / (kind->spec.cpu_milli + 1.0);
}

/* Kinds without devices before the others, because only requests without devices use
 * them; then the first one, then the cheapest. */
static void order_kinds(
	const struct clv_capacity_search *asked, size_t first, size_t *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < asked->n_kinds; i++) {
		size_t at = n++;

		for (; at > 0; at--) {
			const struct clv_capacity_kind *one = &asked->kinds[i];
			const struct clv_capacity_kind *other =
				&asked->kinds[ret[at - 1]];
			bool has = one->spec.n_devices > 0;
			bool other_has = other->spec.n_devices > 0;

			if (has != other_has
					? has
					: ret[at - 1] == first ||
						  (i != first &&
							  price_of_use(one) >=
								  price_of_use(other)))
				break;
			ret[at] = ret[at - 1];
		}
		ret[at] = i;
	}
}

/* So many nodes of the kind that it could take the whole demand. */
static uint32_t ample(const struct clv_capacity_search *asked, size_t kind,
	const struct clv_demand *demand)
{
	const struct clv_fleet_node_spec *spec = &asked->kinds[kind].spec;
	double n = 0;

	if (spec->n_devices > 0)
		n = fmax(n, demand->milli / (spec->n_devices * 1000.0));
	if (spec->cpu_milli > 0)
		n = fmax(n, demand->cpu_milli / spec->cpu_milli);
	if (spec->memory_mib > 0)
		n = fmax(n, demand->memory_mib / spec->memory_mib);
	n = n * AMPLE + AMPLE_NODES;
	return n < asked->most_nodes ? (uint32_t)n : asked->most_nodes;
}

/* The nodes that were used at some time. */
static void count_used(const struct search *search, const struct clv_fleet *fleet,
	const size_t *order, const struct counts *had, struct counts *ret)
{
	uint32_t node = 0;

	*ret = (struct counts){0};
	for (size_t i = 0; i < search->asked->n_kinds; i++) {
		for (uint32_t k = 0; k < had->n[order[i]]; k++, node++)
			ret->n[order[i]] += fleet->log.last[node] >= fleet->n_nodes;
	}
}

struct first {
	size_t order[CLV_CAPACITY_KINDS_MAX];
	struct counts counts; /* that first-fit used */
	struct counts start;  /* that suffice for the policy */
};

/* Plays first-fit with each kind first.  Fills ret with the used nodes; ret_possible is
 * the part of the trace that any number of nodes can accept. */
static int play_first(struct search *search, const struct counts *had, struct first *ret,
	double *ret_possible, struct clv_error *err)
{
	size_t n = search->asked->n_kinds;
	struct clv_run runs[CLV_CAPACITY_KINDS_MAX] = {0};
	struct clv_runs trial = search->learned;
	int r = 0;

	trial.runs = runs;
	trial.n_runs = n;
	trial.queue.order = CLV_QUEUE_NONE;
	trial.admits = false;
	trial.n_refused_ends = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		order_kinds(search->asked, i, ret[i].order);
		runs[i].policy = clv_place_policy_find("first-fit");
		r = make_fleet(search, had, ret[i].order, &runs[i].fleet, err);
	}
	if (r == 0)
		r = play(search, &trial, err);
	*ret_possible = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		*ret_possible = fmax(*ret_possible, accepted_by(&runs[i]));
		count_used(search, clv_replay_fleet(runs[i].replay), ret[i].order, had,
			&ret[i].counts);
	}
	drop(runs, n);
	return r;
}

/* Fleets that suffice for first-fit may be a little too small for another policy: those
 * that are become larger.  Sets the costs, 0 for a fleet that does not suffice. */
static int enlarge(struct search *search, struct first *firsts, size_t n,
	double *ret_costs, struct clv_error *err)
{
	size_t n_found = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		ret_costs[i] = 0;
	for (double more = 1; r == 0 && n_found < STARTS_MAX && n_found < n && more < 1.6;
		more += 0.1) {
		struct counts larger[CLV_CAPACITY_KINDS_MAX];
		double accepted[BATCH_MAX];

		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < CLV_CAPACITY_KINDS_MAX; k++)
				larger[i].n[k] =
					(uint32_t)ceil(firsts[i].counts.n[k] * more);
		}
		r = try_all(search, larger, n, accepted, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			if (accepted[i] <= 0 || ret_costs[i] > 0)
				continue;
			firsts[i].start = larger[i];
			ret_costs[i] = cost_of(search, &larger[i]);
			n_found++;
		}
	}
	return r;
}

/* --- smaller ones --- */

/* Fleets with fewer nodes of one kind. */
static size_t list_fewer(
	const struct search *search, double part, struct counts ret[BATCH_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < search->asked->n_kinds && n < BATCH_MAX; i++) {
		uint32_t has = search->now.n[i];
		uint32_t less = (uint32_t)ceil(has * part);

		if (has == 0)
			continue;
		ret[n] = search->now;
		ret[n++].n[i] = has - less;
	}
	return n;
}

/* Fleets in which nodes of one kind are exchanged for as many devices, or processors, of
 * a kind that is cheaper. */
static size_t list_exchanges(
	const struct search *search, double part, struct counts ret[BATCH_MAX])
{
	const struct clv_capacity_kind *kinds = search->asked->kinds;
	size_t n = 0, n_kinds = search->asked->n_kinds;

	for (size_t i = 0; i < n_kinds * n_kinds && n < BATCH_MAX; i++) {
		const struct clv_fleet_node_spec *from = &kinds[i / n_kinds].spec;
		const struct clv_fleet_node_spec *to = &kinds[i % n_kinds].spec;
		uint32_t has = search->now.n[i / n_kinds];
		double less = ceil(has * part), more;

		if (has == 0 || from == to)
			continue;
		more = from->n_devices && to->n_devices
			       ? ceil(less * from->n_devices / to->n_devices)
			       : ceil(less * from->cpu_milli / (to->cpu_milli + 1.0));
		if (more * kinds[i % n_kinds].price >= less * kinds[i / n_kinds].price ||
			search->now.n[i % n_kinds] + more > search->asked->most_nodes)
			continue;
		ret[n] = search->now;
		ret[n].n[i / n_kinds] = has - (uint32_t)less;
		ret[n++].n[i % n_kinds] += (uint32_t)more;
	}
	return n;
}

/* Fleets in which one or two nodes of a kind are exchanged for a few of another one that
 * cost less together, though they may have fewer devices. */
static size_t list_few(
	const struct search *search, double part, struct counts ret[BATCH_MAX])
{
	const struct clv_capacity_kind *kinds = search->asked->kinds;
	size_t n = 0, n_kinds = search->asked->n_kinds;

	(void)part;
	for (size_t i = 0; i < n_kinds * n_kinds * 2 * FEW_MAX && n < BATCH_MAX; i++) {
		size_t from = i / (n_kinds * 2 * FEW_MAX),
		       to = i / (2 * FEW_MAX) % n_kinds;
		uint32_t less = (uint32_t)(i % 2 + 1);
		uint32_t more = FEW_MAX - (uint32_t)(i / 2 % FEW_MAX);

		if (from == to || search->now.n[from] < less ||
			more * kinds[to].price >= less * kinds[from].price ||
			search->now.n[to] + more > search->asked->most_nodes)
			continue;
		ret[n] = search->now;
		ret[n].n[from] -= less;
		ret[n++].n[to] += more;
	}
	return n;
}

/* Tries steps of one size until none helps. */
static int improve(struct search *search, double part,
	size_t (*list)(const struct search *search, double part, struct counts *ret),
	struct clv_error *err)
{
	int r = 1;

	while (r > 0 && may_go_on(search)) {
		struct counts candidates[BATCH_MAX];
		size_t n = list(search, part, candidates);

		r = step_to_best(search, candidates, n, err);
	}
	return r < 0 ? r : 0;
}

static int descend(struct search *search, struct clv_error *err)
{
	/* clang-format off */
	static const double parts[] = {1, 0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.007, 0.0001};
	/* clang-format on */
	int r = 0;

	for (size_t i = 0; r == 0 && i < CLV_ARRAY_SIZE(parts); i++) {
		r = improve(search, parts[i], list_exchanges, err);
		if (r == 0)
			r = improve(search, parts[i], list_fewer, err);
	}
	if (r == 0)
		r = improve(search, 0, list_few, err);
	return r < 0 ? r : improve(search, 0.0001, list_fewer, err);
}

/* Goes on from the cheapest first fleets, each once. */
static int descend_all(struct search *search, const struct first *firsts, double *costs,
	size_t n, struct clv_error *err)
{
	unsigned each = 0;
	int r = 0;

	if (search->asked->most_trials > search->n_trials)
		each = (search->asked->most_trials - search->n_trials) / STARTS_MAX;
	for (unsigned start = 0; r == 0 && start < STARTS_MAX; start++) {
		size_t best = n;

		for (size_t i = 0; i < n; i++) {
			if (costs[i] > 0 && (best == n || costs[i] < costs[best]))
				best = i;
		}
		if (best == n)
			break;
		search->now = firsts[best].start;
		search->now_cost = costs[best] + 1;
		search->trials_end = search->n_trials + each;
		r = step_to_best(search, &firsts[best].start, 1, err);
		if (r >= 0)
			r = descend(search, err);
		for (size_t i = 0; i < n; i++) {
			if (i != best && memcmp(&firsts[i].start, &firsts[best].start,
						 sizeof(firsts[i].start)) == 0)
				costs[i] = 0;
		}
		costs[best] = 0;
	}
	return r;
}

/* --- all of it --- */

static int learn(struct search *search, struct clv_error *err)
{
	const struct clv_capacity_search *asked = search->asked;
	struct counts one = {0};
	struct clv_fleet *fleet = NULL;
	int r;

	for (size_t i = 0; i < asked->n_kinds; i++)
		one.n[i] = 1;
	r = make_fleet(search, &one, NULL, &fleet, err);
	if (r == 0)
		r = clv_runs_learn(&search->learned, fleet, err);
	clv_fleet_free(fleet);
	search->learned.n_refused_ends =
		1 +
		(uint64_t)((1 - asked->accepted) * (double)search->learned.n_arrivals +
			   1e-6);
	return r;
}

static int search_fleets(
	struct search *search, double *ret_possible, struct clv_error *err)
{
	struct first firsts[CLV_CAPACITY_KINDS_MAX] = {0};
	double costs[CLV_CAPACITY_KINDS_MAX];
	size_t n = search->asked->n_kinds;
	struct clv_demand demand;
	struct counts had = {0};
	int r = clv_demand_measure(search->learned.trace_path, search->asked->fleet,
		&search->learned.options, &demand, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		had.n[i] = ample(search->asked, i, &demand);
	if (r == 0)
		r = play_first(search, &had, firsts, ret_possible, err);
	if (r < 0 || *ret_possible < search->asked->accepted)
		return r;
	r = enlarge(search, firsts, n, costs, err);
	return r < 0 ? r : descend_all(search, firsts, costs, n, err);
}

int clv_capacity_find(const struct clv_capacity_search *asked, struct clv_capacity *ret,
	struct clv_error *err)
{
	struct search search = {
		.asked = asked,
		.learned = {.trace_path = asked->like->trace_path,
			.options = asked->like->options,
			.most_moves = asked->like->most_moves,
			.admits = asked->like->admits,
			.power_milli = asked->like->power_milli,
			.queue = asked->like->queue},
	};
	double possible = 0;
	int r = learn(&search, err);

	if (r == 0)
		r = search_fleets(&search, &possible, err);
	clv_workload_done(&search.learned.workload);
	if (r < 0)
		return r;
	for (size_t i = 0; i < asked->n_kinds; i++)
		asked->kinds[i].n_nodes = search.best.n[i];
	*ret = (struct clv_capacity){
		.is_found = search.best_cost > 0,
		.accepted = search.best_cost > 0 ? search.accepted : possible,
		.cost = search.best_cost,
		.n_trials = search.n_trials,
	};
	return 0;
}

static bool is_alike(
	const struct clv_capacity_kind *one, const struct clv_capacity_kind *other)
{
	const struct clv_fleet_node_spec *a = &one->spec, *b = &other->spec;

	return strcmp(a->model, b->model) == 0 && a->cpu_milli == b->cpu_milli &&
	       a->memory_mib == b->memory_mib && a->device_mib == b->device_mib &&
	       a->n_devices == b->n_devices && a->n_numa == b->n_numa &&
	       a->n_linked == b->n_linked && a->scheme == b->scheme &&
	       memcmp(&a->power, &b->power, sizeof(a->power)) == 0 &&
	       fabs(one->price - other->price) < 1e-9;
}

struct clv_fleet_node_spec clv_capacity_spec_of(
	const struct clv_fleet *fleet, uint32_t number)
{
	const struct clv_fleet_node *node = &fleet->nodes[number];
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	struct clv_fleet_node_spec spec = {
		.model = fleet->models[node->model],
		.cpu_milli = node->cpu_milli,
		.memory_mib = node->memory_mib,
		.n_devices = node->n_devices,
		.n_linked = node->n_linked,
		.power = node->power ? fleet->powers[node->power - 1]
				     : (struct clv_fleet_power){0},
	};

	if (node->n_devices == 0)
		return spec;
	spec.device_mib = devices[0].memory_mib;
	spec.scheme = devices[0].scheme;
	spec.n_numa = (uint8_t)(devices[node->n_devices - 1].numa + 1);
	return spec;
}

int clv_capacity_kinds(const struct clv_fleet *fleet, const double *prices,
	struct clv_capacity_kind ret[CLV_CAPACITY_KINDS_MAX])
{
	int n = 0;

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		struct clv_capacity_kind kind = {.spec = clv_capacity_spec_of(fleet, i)};
		int k = 0;

		kind.price = prices ? prices[i] : 0;
		if (kind.price <= 0)
			kind.price = kind.spec.n_devices ? kind.spec.n_devices : 1;
		while (k < n && !is_alike(&ret[k], &kind))
			k++;
		if (k == CLV_CAPACITY_KINDS_MAX)
			return -E2BIG;
		if (k == n)
			ret[n++] = kind;
	}
	return n;
}
