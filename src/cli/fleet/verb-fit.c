/* SPDX-License-Identifier: Apache-2.0 */
/* cleave fit: checks whether requests fit a fleet, where, and what is missing; with
 * --predict, how programs perform together (predict.c).  It talks to no agent. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "cli/fleet/predict.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/gang.h"
#include "simulate/files/snapshot.h"
#include "simulate/source.h"
#include "simulate/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fit_settings {
	struct clv_common common;
	const char *policies;
	bool predict;
};

struct wanted {
	struct clv_trace_item item;
	size_t number; /* in the file, from 1 */
	size_t gang;   /* number of the first of its gang, or its own */
	uint64_t weight;
	struct clv_place_at at;
	bool is_placed;
};

struct wants {
	struct wanted *items;
	size_t n;
};

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell  right  fit    rank   rare   key */
	{ "REQUEST", NULL, true,  WHOLE, 0,     false, "request" },
	{ "FITS",    NULL, false, WHOLE, 0,     false, "fits" },
	{ "NODE",    NULL, true,  WHOLE, 0,     true,  "node" },
	{ "MODEL",   NULL, false, WHOLE, 1,     true,  "model" },
	{ "DEVICES", NULL, false, WHOLE, 0,     true,  "devices" },
	{ "START",   NULL, true,  WHOLE, 1,     true,  "start" },
	{ "MISSING", NULL, false, WRAP,  0,     true,  "missing" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "request",
};

/* snapshot: what the file is, or NULL: it is to be read. */
static int read_wants(const char *path, const struct clv_snapshot *snapshot,
	struct clv_fleet *fleet, struct wants *ret, struct clv_error *err)
{
	struct clv_snapshot_odd odd = {0};
	struct clv_source_options options = {
		.has_placed = true, .snapshot = snapshot, .odd = &odd};
	struct clv_source *source = NULL;
	struct clv_trace_item item;
	int r = clv_source_open(path, fleet, &options, &source, err);

	if (r == 0)
		r = clv_source_take_placed(source, fleet, err);
	while (r == 0 && (r = clv_source_next(source, &item, err)) > 0) {
		struct wanted *grown =
			reallocarray(ret->items, ret->n + 1, sizeof(*grown));

		if (!grown) {
			r = clv_error_errno(err, ENOMEM, "reading requests");
			break;
		}
		ret->items = grown;
		grown[ret->n] = (struct wanted){
			.item = item, .number = ret->n + 1, .gang = ret->n + 1};
		if (ret->n > 0 && item.gang && item.gang == grown[ret->n - 1].item.gang)
			grown[ret->n].gang = grown[ret->n - 1].gang;
		ret->n++;
		r = 0;
	}
	clv_source_close(source);
	if (r == 0)
		clv_scenario_tell_odd(path, &odd);
	return r;
}

/* How hard a request is to place: several devices together first, then by compute and
 * memory. */
static uint64_t weight_of(const struct clv_fleet *fleet, const struct wanted *wanted)
{
	const struct clv_place_request *request = &wanted->item.request;

	return (uint64_t)request->n_devices << 56 |
	       (uint64_t)clv_fleet_request_milli(fleet, request) << 36 |
	       (request->device_mib & 0xfffffffffu);
}

/* The largest first; a gang together, and by its largest member. */
static int compare_wants(const void *a, const void *b)
{
	const struct wanted *one = a, *other = b;

	if (one->weight != other->weight)
		return one->weight > other->weight ? -1 : 1;
	if (one->gang != other->gang)
		return one->gang < other->gang ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

static void sort_wants(const struct clv_fleet *fleet, struct wants *wants)
{
	struct wanted *items = wants->items;

	for (size_t i = 0, first = 0; i < wants->n; i++) {
		if (items[i].gang != items[first].gang)
			first = i;
		items[i].weight = weight_of(fleet, &items[i]);
		for (size_t k = first; k < i; k++) {
			if (items[k].weight < items[i].weight)
				items[k].weight = items[i].weight;
			else
				items[i].weight = items[k].weight;
		}
	}
	if (wants->n > 0)
		qsort(items, wants->n, sizeof(*items), compare_wants);
}

/* Where the lease went. */
static struct clv_place_at place_of(const struct clv_fleet *fleet, uint32_t number)
{
	const struct clv_fleet_lease *lease = &fleet->leases[number];

	return (struct clv_place_at){
		.devices = lease->devices, .node = lease->node, .start = lease->start};
}

/* Places all requests of a gang, or none of them.  Returns 0, also if they do not fit, or
 * -ENOMEM. */
static int place_gang(
	struct clv_fleet *fleet, struct clv_placer *placer, struct wanted *gang, size_t n)
{
	_cleanup_free_ struct clv_place_request *requests = calloc(n, sizeof(*requests));
	_cleanup_free_ uint32_t *leases = calloc(n, sizeof(*leases));
	int r = requests && leases ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (gang[i].item.is_of_no_model || gang[i].item.is_too_large)
			return 0;
		requests[i] = gang[i].item.request;
	}
	if (r == 0)
		r = clv_place_gang(placer, requests, n, leases);
	for (size_t i = 0; r == 0 && i < n; i++) {
		gang[i].at = place_of(fleet, leases[i]);
		gang[i].is_placed = true;
	}
	return r == -ENOMEM ? r : 0;
}

static int make_placer(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	const struct wants *wants, struct clv_placer **ret, struct clv_error *err)
{
	struct clv_workload workload = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < wants->n; i++)
		r = clv_workload_add(&workload, &wants->items[i].item.request, 1);
	clv_workload_cut(&workload, 100);
	if (r == 0)
		r = clv_placer_new(fleet, policy, &workload, NULL, ret, err);
	else
		clv_error_errno(err, -r, "placing requests");
	clv_workload_done(&workload);
	return r;
}

static int place_all(struct clv_fleet *fleet, const struct clv_place_policy *policy,
	struct wants *wants, struct clv_error *err)
{
	struct clv_placer *placer = NULL;
	int r = make_placer(fleet, policy, wants, &placer, err);

	for (size_t i = 0, n; r == 0 && i < wants->n; i += n) {
		for (n = 1; i + n < wants->n &&
			    wants->items[i + n].gang == wants->items[i].gang;)
			n++;
		r = place_gang(fleet, placer, &wants->items[i], n);
		if (r < 0)
			clv_error_errno(err, -r, "placing requests");
	}
	clv_placer_free(placer);
	return r;
}

static void ease_models(struct clv_place_request *request)
{
	request->models = CLV_PLACE_ANY_MODEL;
}

static void ease_cpu(struct clv_place_request *request)
{
	request->cpu_milli = 0;
}

static void ease_memory(struct clv_place_request *request)
{
	request->memory_mib = 0;
}

static void ease_device_memory(struct clv_place_request *request)
{
	request->device_mib = 0;
}

static void ease_near(struct clv_place_request *request)
{
	request->same_numa = request->same_link = false;
}

/* What may be missing; ease() removes the requirement from a request. */
static const struct {
	void (*ease)(struct clv_place_request *request);
	const char *text;
} shortages[] = {
	{ease_models, "devices of its models: others are free"},
	{ease_cpu, "processors beside free devices"},
	{ease_memory, "the node's memory beside free devices"},
	{ease_near, "free devices on one NUMA node or joined by NVLink"},
	{ease_device_memory, "memory on devices with free compute"},
};

static bool fits_a_node(
	const struct clv_fleet *fleet, const struct clv_place_request *request)
{
	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		if (clv_fit_node(fleet, &fleet->nodes[i], request))
			return true;
	}
	return false;
}

/* The first shortage without which the request would fit a node.  One that fits a node as
 * it is belongs to a gang. */
static const char *missing_for(const struct clv_fleet *fleet, const struct wanted *wanted)
{
	if (wanted->item.is_of_no_model)
		return "no node has one of its models";
	if (fits_a_node(fleet, &wanted->item.request))
		return "room for all of its gang at once";
	for (size_t k = 0; k < CLV_ARRAY_SIZE(shortages); k++) {
		struct clv_place_request eased = wanted->item.request;

		shortages[k].ease(&eased);
		if (fits_a_node(fleet, &eased))
			return shortages[k].text;
	}
	return "free devices on one node";
}

static json_t *row_of(const struct clv_fleet *fleet, const struct wanted *wanted)
{
	json_t *row = json_pack("{s:I, s:s}", "request", (json_int_t)wanted->number,
		"fits", wanted->is_placed ? "yes" : "no");
	char devices[192] = "";
	const struct clv_fleet_node *node;

	if (!wanted->is_placed) {
		json_object_set_new(
			row, "missing", json_string(missing_for(fleet, wanted)));
		return row;
	}
	node = &fleet->nodes[wanted->at.node];
	for (uint64_t left = wanted->at.devices; left; left &= left - 1)
		snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
			"%s%d", devices[0] ? "," : "", __builtin_ctzll(left));
	json_object_set_new(row, "node", json_integer(wanted->at.node));
	json_object_set_new(row, "model", json_string(fleet->models[node->model]));
	json_object_set_new(row, "devices", json_string(devices));
	if (wanted->item.request.profile)
		json_object_set_new(row, "start", json_integer(wanted->at.start));
	return row;
}

static int show(const struct fit_settings *settings, const struct clv_fleet *fleet,
	const struct wants *wants)
{
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", items);
	size_t n_placed = 0;

	for (size_t number = 1; number <= wants->n; number++) {
		for (size_t i = 0; i < wants->n; i++) {
			if (wants->items[i].number == number)
				json_array_append_new(
					items, row_of(fleet, &wants->items[i]));
		}
		n_placed += wants->items[number - 1].is_placed;
	}
	if (clv_output_list(&listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	return n_placed == wants->n ? CLV_EXIT_OK : CLV_EXIT_NO_FIT;
}

static int run_fit(const void *userdata, int argc, char **argv)
{
	const struct fit_settings *settings = userdata;
	const struct clv_place_policy *policies[CLV_SCENARIO_POLICIES_MAX];
	_cleanup_fleet_ struct clv_fleet *fleet = NULL;
	_cleanup_snapshot_ struct clv_snapshot *snapshot = NULL;
	struct wants wants = {0};
	struct clv_error err;
	int n, r;

	if (settings->predict)
		return clv_predict_show(&settings->common, argc, argv);
	if (argc != 2)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"name a FLEET and REQUESTS, or with --predict reports "
			"of cleave profile");
	n = clv_scenario_policies(settings->policies, "balance", policies);
	if (n < 0)
		return -n;
	r = clv_scenario_keep_files(argc, argv);
	if (r == 0)
		r = clv_scenario_read_in_use(argv[0], &fleet, &snapshot);
	if (r)
		return r;
	if (read_wants(argv[1], strcmp(argv[0], argv[1]) == 0 ? snapshot : NULL, fleet,
		    &wants, &err) < 0) {
		r = clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	} else {
		sort_wants(fleet, &wants);
		r = place_all(fleet, policies[0], &wants, &err) < 0
			    ? clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg)
			    : show(settings, fleet, &wants);
	}
	free(wants.items);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	{
		.name = "policy",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct fit_settings, policies),
		.argument = "NAME",
		.help = "Place by this policy (default balance)",
	},
	{
		.name = "predict",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct fit_settings, predict),
		.help = "Estimate how much slower programs run together on one device, "
			"from their reports of cleave profile",
	},
};

const struct clv_verb clv_verb_fit = {
	.name = "fit",
	.arguments = "FLEET REQUESTS|REPORT[=SHARE[,CLASS]]...",
	.summary =
		"check whether requests fit a fleet together, where, and what is missing",
	.about = "FLEET and REQUESTS are files as for cleave simulate. The largest "
		 "requests are placed first. The exit code is 75 if not all of them "
		 "fit. With --predict, each REPORT is a file of cleave profile "
		 "--report; SHARE and CLASS are by default those that it proposes.",
	.settings_bytes = sizeof(struct fit_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_fit,
};
