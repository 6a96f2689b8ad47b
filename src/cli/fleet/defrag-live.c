/* SPDX-License-Identifier: Apache-2.0 */
/* Proposes moves on an agent's node.  A program's memory cannot be moved to another
 * device, so a lease with a program moves by a restart: its owner ends it and starts the
 * program elsewhere.  Plans without a restart are preferred, then those with the fewest
 * moves. */
#include "cli/fleet/defrag-live.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/fleet/defrag-apply.h"
#include "cli/fleet/live-fleet.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/order.h"
#include "core/repack/repack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB_SHIFT 20

struct defrag {
	struct clv_live_fleet live;
	struct clv_placer *placer;
	struct clv_place_request wanted[CLV_LIVE_KINDS_MAX];
	unsigned n_wanted;
	struct clv_repack_plan plan; /* for chosen, with the fewest moves */
	struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];
	int n_steps;
	const struct clv_place_request
		*chosen; /* one of wanted; NULL: nothing was found */
	bool may_restart, gave_up;
	json_t *items;
};

/* Makes the request of the options for a kind of devices; -EINVAL or -ERANGE if the kind
 * cannot have it. */
static int request_on(const struct clv_defrag_settings *settings,
	const struct clv_live_fleet *live, unsigned kind, struct clv_place_request *ret,
	struct clv_error *err)
{
	bool is_whole =
		settings->count || !(settings->share.ppm || settings->memory_bytes);
	struct clv_share_request asked = {
		.compute_ppm = is_whole ? CLV_PPM : settings->share.ppm,
		.memory_bytes = is_whole ? 0 : settings->memory_bytes,
		.class = CLV_CLASS_NORMAL,
	};
	struct clv_share share;
	int model = clv_fleet_find_model(live->fleet, live->kinds[kind].model);
	int r = clv_share_resolve(&asked,
		clv_json_bytes(live->kinds[kind].device, "memory_bytes"), &share, err);

	if (r < 0)
		return r;
	*ret = (struct clv_place_request){
		.models = UINT64_C(1) << model,
		.device_mib = (uint32_t)(share.memory_bytes >> MIB_SHIFT),
		.milli = (uint16_t)(share.compute_ppm / 1000),
		.n_devices = settings->count ? (uint8_t)settings->count : 1,
		.class = CLV_CLASS_NORMAL,
	};
	return 0;
}

static int add_shares(const struct clv_defrag_settings *settings, struct defrag *defrag,
	struct clv_error *err)
{
	int r = 0;

	for (unsigned i = 0; i < defrag->live.n_kinds; i++) {
		r = request_on(settings, &defrag->live, i,
			&defrag->wanted[defrag->n_wanted], err);
		defrag->n_wanted += r == 0;
	}
	return defrag->n_wanted ? 0 : r;
}

static void add_instances(
	const struct clv_defrag_settings *settings, struct defrag *defrag)
{
	const struct clv_fleet *fleet = defrag->live.fleet;

	for (uint32_t i = 0; i < fleet->n_schemes && i < CLV_LIVE_KINDS_MAX; i++) {
		int profile = clv_mig_profile_find(
			fleet->schemes[i].model, settings->profile, NULL);

		if (profile >= 0)
			defrag->wanted[defrag->n_wanted++] = (struct clv_place_request){
				.n_devices = 1,
				.scheme = (uint8_t)(i + 1),
				.profile = (uint8_t)(profile + 1),
				.class = CLV_CLASS_NORMAL,
			};
	}
}

static bool is_movable(void *userdata, uint32_t lease)
{
	const struct defrag *defrag = userdata;
	const struct clv_live_item *item = &defrag->live.items[lease];

	return lease < defrag->live.room && item->is_movable &&
	       (defrag->may_restart || !item->lease);
}

static int make_placer(struct defrag *defrag, struct clv_error *err)
{
	struct clv_fleet *fleet = defrag->live.fleet;
	struct clv_workload workload = {0};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < defrag->n_wanted; i++)
		r = clv_workload_add(&workload, &defrag->wanted[i], 1);
	for (uint32_t i = 0; r == 0 && i < fleet->n_leases; i++) {
		struct clv_place_request held = clv_repack_request_of(fleet, i);

		if (fleet->leases[i].is_held)
			r = clv_workload_add(&workload, &held, 1);
	}
	clv_workload_cut(&workload, 100);
	if (r == 0)
		r = clv_placer_new(fleet, clv_place_policy_find("balance"), &workload,
			NULL, &defrag->placer, err);
	clv_workload_done(&workload);
	return r;
}

/* Keeps the plan with the fewest moves over all kinds of devices. */
static void search(struct defrag *defrag, unsigned most)
{
	struct clv_repack_options options = {
		.is_movable = is_movable, .userdata = defrag, .most_moves = most};

	for (unsigned i = 0; i < defrag->n_wanted; i++) {
		struct clv_repack_plan plan;
		int r = clv_repack_find(defrag->live.fleet, defrag->placer,
			&defrag->wanted[i], &options, &plan);

		defrag->gave_up |= r == -EAGAIN;
		if (r < 0 || (defrag->chosen && plan.n_moves >= defrag->plan.n_moves))
			continue;
		defrag->plan = plan;
		defrag->chosen = &defrag->wanted[i];
	}
}

/* Prefers a plan without restarts, even if it has more moves. */
static void search_least_disruptive(struct defrag *defrag, unsigned most)
{
	search(defrag, most);
	defrag->may_restart = true;
	if (!defrag->chosen)
		search(defrag, most);
}

/* "gpu0", "gpu0,gpu1"; of an instance, "gpu0/1g.10gb@4". */
static json_t *place_text(const struct defrag *defrag,
	const struct clv_place_request *request, const struct clv_place_at *at)
{
	const struct clv_fleet *fleet = defrag->live.fleet;
	uint32_t first = fleet->nodes[at->node].first_device;
	char text[1024] = "";
	size_t used = 0;

	for (uint64_t left = at->devices; left && used < sizeof(text); left &= left - 1)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
			used ? "," : "",
			defrag->live.names[first + (uint32_t)__builtin_ctzll(left)]);
	if (request->profile && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, "/%s@%u",
			fleet->schemes[request->scheme - 1]
				.model->profiles[request->profile - 1]
				.name,
			at->start);
	return json_string(text);
}

/* What a step means for a lease, and for an instance without a holder. */
static const struct {
	const char *lease, *instance;
	bool leaves, arrives;
} steps[] = {
	[CLV_REPACK_MOVE] = {"restart", "make anew", true, true},
	[CLV_REPACK_ASIDE] = {"restart aside", "make anew", true, true},
	[CLV_REPACK_END] = {"end", "destroy", true, false},
	[CLV_REPACK_BEGIN] = {"begin", "create", false, true},
};

static void add_step(struct defrag *defrag, const struct clv_repack_step *step)
{
	const struct clv_repack_move *move = &defrag->plan.moves[step->move];
	const struct clv_live_item *item = &defrag->live.items[move->lease];
	json_t *row = json_pack("{s:s}", "do",
		item->lease ? steps[step->how].lease : steps[step->how].instance);

	if (steps[step->how].leaves)
		json_object_set_new(
			row, "from", place_text(defrag, &move->request, &step->from));
	if (steps[step->how].arrives)
		json_object_set_new(
			row, "to", place_text(defrag, &move->request, &step->to));
	if (item->lease) {
		json_object_set_new(
			row, "lease", json_string(clv_json_text(item->lease, "name")));
		json_object_set_new(
			row, "id", json_string(clv_json_text(item->lease, "id")));
		json_object_set_new(
			row, "tenant", json_string(clv_json_text(item->lease, "tenant")));
		json_object_set(row, "uid", json_object_get(item->lease, "uid"));
		json_object_set_new(row, "command",
			json_string(clv_json_text(item->lease, "command")));
	}
	json_array_append_new(defrag->items, row);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell  right  fit    rank   rare   key */
	{ "DO",      NULL, false, WHOLE, 0,     false, "do" },
	{ "LEASE",   NULL, false, WHOLE, 0,     true,  "lease" },
	{ "TENANT",  NULL, false, WHOLE, 1,     true,  "tenant" },
	{ "FROM",    NULL, false, WHOLE, 0,     true,  "from" },
	{ "TO",      NULL, false, WHOLE, 0,     true,  "to" },
	{ "COMMAND", NULL, false, CUT,   2,     true,  "command" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "lease",
};

/* Explains what the user has to do for the rows. */
static void print_instructions(const struct defrag *defrag)
{
	unsigned n_restarts = 0;

	for (unsigned i = 0; i < defrag->plan.n_moves; i++)
		n_restarts +=
			defrag->live.items[defrag->plan.moves[i].lease].lease != NULL;
	if (defrag->plan.n_moves == 0)
		return;
	if (n_restarts > 0 && !clv_defrag_restarts_programs(defrag->items))
		clv_output_line(stderr,
			"cleave: the leases are of replicas of services: --apply moves "
			"them, each once another one is ready");
	else if (n_restarts > 0)
		clv_output_line(stderr,
			"cleave: nothing was changed, and no running "
			"program's memory can be moved: in this order, end "
			"each lease, then start its program again with the "
			"device under TO as --device");
	if (n_restarts < defrag->plan.n_moves)
		clv_output_line(stderr,
			"cleave: the instances to make anew have no holder: %s",
			n_restarts > 0 ? "use cleave partition destroy, then create "
					 "with --start, or a layout"
				       : "--apply does so");
}

static int show(const struct clv_defrag_settings *settings, struct defrag *defrag)
{
	_cleanup_json_ json_t *list = NULL;

	defrag->items = json_array();
	list = json_pack("{s:o}", "items", defrag->items);
	for (int i = 0; defrag->chosen && i < defrag->n_steps; i++)
		add_step(defrag, &defrag->steps[i]);
	if (defrag->chosen)
		json_array_append_new(defrag->items,
			json_pack("{s:s, s:o}", "do", "place", "to",
				place_text(defrag, defrag->chosen, &defrag->plan.at)));
	else
		json_array_append_new(defrag->items,
			json_pack("{s:s}", "do",
				defrag->gave_up ? "give up searching" : "cannot fit"));
	if (clv_output_list(&listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!defrag->chosen)
		return CLV_EXIT_NO_FIT;
	if (settings->apply)
		return clv_defrag_apply(&settings->common, settings->yes, defrag->items,
			defrag->chosen->profile != 0);
	if (!clv_output_is_data(settings->common.output))
		print_instructions(defrag);
	return CLV_EXIT_OK;
}

/* A profile alone requests a new instance, if a GPU has this profile. */
static int read_node(const struct clv_defrag_settings *settings, struct defrag *defrag,
	struct clv_error *err)
{
	bool is_whole = settings->profile && !settings->count && !settings->share.ppm &&
			!settings->memory_bytes;
	int r = is_whole ? clv_live_read(&defrag->live, NULL, true) : 0;

	if (r == 0 && is_whole)
		add_instances(settings, defrag);
	if (r == 0 && defrag->n_wanted == 0) {
		clv_fleet_free(defrag->live.fleet);
		free(defrag->live.items);
		free(defrag->live.names);
		r = clv_live_read(&defrag->live, settings->profile, false);
	}
	if (r < 0)
		return clv_error_set(
			err, r, "the node's devices cannot be read: %s", strerror(-r));
	return defrag->n_wanted ? 0 : add_shares(settings, defrag, err);
}

static int find_and_show(
	const struct clv_defrag_settings *settings, struct defrag *defrag, unsigned most)
{
	struct clv_error err = {0};
	int r = read_node(settings, defrag, &err);

	if (r < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (defrag->n_wanted == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT, "no device of this node can take "
						     "such a lease: see cleave devices");
	if (make_placer(defrag, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	search_least_disruptive(defrag, most);
	if (defrag->chosen) {
		r = clv_repack_order(defrag->live.fleet, &defrag->plan, defrag->steps);
		if (r < 0)
			return clv_cli_fail(CLV_EXIT_FAILED,
				"the moves cannot be put in order: %s", strerror(-r));
		defrag->n_steps = r;
	}
	return show(settings, defrag);
}

int clv_defrag_live(const struct clv_defrag_settings *settings, unsigned most)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *devices = NULL, *leases = NULL, *node = NULL;
	struct clv_client_error err;
	struct defrag defrag = {.live.keep = settings->keep};
	int r;

	if (!settings->share.ppm && !settings->memory_bytes && !settings->profile &&
		!settings->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"no request is given: add --share, --memory, --profile or "
			"--count as for cleave run, or name the files FLEET and WANTED");
	r = clv_cli_connect(&settings->common, true, &client);
	if (r)
		return r;
	if (clv_client_devices(client, &devices, &err) < 0 ||
		clv_client_leases(client, &leases, &err) < 0 ||
		clv_client_node(client, &node, &err) < 0)
		return clv_cli_fail_client(&err);
	defrag.live.devices = json_object_get(devices, "items");
	defrag.live.leases = json_object_get(leases, "items");
	defrag.live.node = node;
	r = find_and_show(settings, &defrag, most);
	clv_placer_free(defrag.placer);
	clv_live_done(&defrag.live);
	return r;
}
