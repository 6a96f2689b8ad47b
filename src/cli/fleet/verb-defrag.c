/* SPDX-License-Identifier: Apache-2.0 */
/* cleave defrag: proposes moves of leases that make requests fit, on a fleet that files
 * describe or on an agent's node (defrag-live.c).  With --apply it moves
 * unused instances (defrag-apply.c); a program is never moved. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "cli/fleet/defrag-live.h"
#include "cli/fleet/scenario.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/order.h"
#include "core/repack/repack.h"
#include "simulate/files/plan-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_MOVES 4

/* A fleet with its leases, and their entries in the file. */
struct state {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_plan_trace trace;
	const struct clv_plan_entry **by_lease;
	uint32_t n_leases; /* size of by_lease */
	json_t *items;
};

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell  right  fit    rank   rare   key */
	{ "FOR",     NULL, false, WHOLE, 0,     false, "for" },
	{ "DO",      NULL, false, WHOLE, 0,     false, "do" },
	{ "LEASE",   NULL, false, WHOLE, 0,     true,  "lease" },
	{ "FROM",    NULL, false, WHOLE, 0,     true,  "from" },
	{ "TO",      NULL, false, WHOLE, 0,     true,  "to" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "lease",
	.none = "no request is listed",
};

/* Writes "node 3: 0,1", and "@start" for a partition. */
static json_t *place_text(
	const struct clv_place_request *request, const struct clv_place_at *at)
{
	char text[256];
	int used = snprintf(text, sizeof(text), "node %u:", at->node);
	const char *between = " ";

	for (uint64_t left = at->devices; left; left &= left - 1, between = ",")
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%d",
			between, __builtin_ctzll(left));
	if (request->profile)
		snprintf(text + used, sizeof(text) - (size_t)used, "@%u", at->start);
	return json_string(text);
}

static json_t *name_of(const struct clv_plan_entry *entry)
{
	char text[24];

	if (entry->name[0])
		return json_string(entry->name);
	snprintf(text, sizeof(text), "#%zu", entry->number + 1);
	return json_string(text);
}

static bool is_movable(void *userdata, uint32_t lease)
{
	const struct state *state = userdata;

	/* A request that was placed before stays. */
	return lease < state->n_leases && state->by_lease[lease] &&
	       !state->by_lease[lease]->is_fixed;
}

static void record_entry(
	void *userdata, const struct clv_plan_entry *entry, uint32_t lease)
{
	((struct state *)userdata)->by_lease[lease] = entry;
}

static int make_placer(struct state *state)
{
	struct clv_workload workload = {0};
	struct clv_error err;
	int r = 0;

	for (size_t i = 0; r == 0 && i < state->trace.n_placed; i++)
		r = clv_workload_add(&workload, &state->trace.placed[i].request, 1);
	for (size_t i = 0; r == 0 && i < state->trace.n_entries; i++)
		r = clv_workload_add(&workload, &state->trace.entries[i].request, 1);
	clv_workload_cut(&workload, 100);
	if (r == 0)
		r = clv_placer_new(state->fleet, clv_place_policy_find("balance"),
			&workload, NULL, &state->placer, &err);
	clv_workload_done(&workload);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "out of memory") : 0;
}

static void add_row(struct state *state, const struct clv_plan_entry *wanted,
	const char *what, json_t *lease, json_t *from, json_t *to)
{
	json_t *row = json_pack("{s:o, s:s}", "for", name_of(wanted), "do", what);

	if (lease)
		json_object_set_new(row, "lease", lease);
	if (from)
		json_object_set_new(row, "from", from);
	if (to)
		json_object_set_new(row, "to", to);
	json_array_append_new(state->items, row);
}

/* Lists the steps in their order. */
static void add_steps(struct state *state, const struct clv_repack_plan *plan,
	const struct clv_repack_step *steps, int n, const struct clv_plan_entry *wanted)
{
	static const char *const words[] = {
		[CLV_REPACK_MOVE] = "move",
		[CLV_REPACK_ASIDE] = "move aside",
		[CLV_REPACK_END] = "end",
		[CLV_REPACK_BEGIN] = "begin",
	};

	for (int i = 0; i < n; i++) {
		const struct clv_repack_step *step = &steps[i];
		const struct clv_repack_move *move = &plan->moves[step->move];
		bool leaves = step->how != CLV_REPACK_BEGIN;
		bool arrives = step->how != CLV_REPACK_END;

		add_row(state, wanted, words[step->how],
			name_of(state->by_lease[move->lease]),
			leaves ? place_text(&move->request, &step->from) : NULL,
			arrives ? place_text(&move->request, &step->to) : NULL);
	}
}

/* Updates by_lease, since moved leases have new numbers. */
static void follow_moves(struct state *state, const struct clv_repack_plan *before,
	const struct clv_repack_plan *after)
{
	const struct clv_plan_entry *moved[CLV_REPACK_MOVES_MAX] = {NULL};

	for (unsigned i = 0; i < before->n_moves; i++) {
		moved[i] = state->by_lease[before->moves[i].lease];
		state->by_lease[before->moves[i].lease] = NULL;
	}
	for (unsigned i = 0; i < after->n_moves; i++)
		state->by_lease[after->moves[i].lease] = moved[i];
}

/* Makes room for a request and places it.  Returns 1, or 0 if it cannot fit. */
static int make_room(
	struct state *state, const struct clv_plan_entry *wanted, unsigned most)
{
	struct clv_repack_options options = {
		.is_movable = is_movable,
		.userdata = state,
		.most_moves = most,
	};
	struct clv_repack_step steps[CLV_REPACK_STEPS_MAX];
	struct clv_repack_plan plan = {0}, done;
	uint32_t lease;
	int n_steps = 0;
	int r = wanted->is_of_no_model ? -ENOSPC
				       : clv_repack_find(state->fleet, state->placer,
						 &wanted->request, &options, &plan);

	if (r == 0)
		r = n_steps = clv_repack_order(state->fleet, &plan, steps);
	done = plan;
	if (r >= 0)
		r = clv_repack_apply(state->fleet, &wanted->request, &done, &lease);
	if (r < 0) {
		add_row(state, wanted, r == -EAGAIN ? "give up searching" : "cannot fit",
			NULL, NULL, NULL);
		return 0;
	}
	add_steps(state, &plan, steps, n_steps, wanted);
	follow_moves(state, &plan, &done);
	add_row(state, wanted, "place", NULL, NULL,
		place_text(&wanted->request, &done.at));
	return 1;
}

static int make_all(
	const struct clv_defrag_settings *settings, struct state *state, unsigned most)
{
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", state->items);
	bool is_all = true;

	for (size_t i = 0; i < state->trace.n_entries; i++) {
		for (uint64_t k = 0; k < state->trace.entries[i].count; k++)
			is_all &= make_room(state, &state->trace.entries[i], most) > 0;
	}
	if (clv_output_list(&listing, settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	return is_all ? CLV_EXIT_OK : CLV_EXIT_NO_FIT;
}

static int begin(struct state *state, char **argv)
{
	uint64_t n_leases;
	struct clv_error err;
	int r = clv_scenario_keep_files(2, argv);

	if (r == 0)
		r = clv_scenario_read_in_use(argv[0], &state->fleet, NULL);
	if (r)
		return r;
	if (clv_plan_read_trace(argv[1], state->fleet, &state->trace, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (state->trace.per_hour > 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%.200s: a mix is for cleave simulate: list the requests instead",
			argv[1]);
	/* What runs on the nodes of a snapshot has no entry, and stays. */
	n_leases = state->fleet->n_held + state->trace.n_placed;
	for (size_t i = 0; i < state->trace.n_entries; i++) {
		if (state->trace.entries[i].n_gang > 0)
			return clv_cli_fail(CLV_EXIT_BAD_FILE,
				"%.200s: a gang cannot be wanted here: list single "
				"requests",
				argv[1]);
		n_leases += state->trace.entries[i].count;
	}
	state->n_leases = (uint32_t)n_leases;
	state->by_lease = calloc(n_leases + 1, sizeof(*state->by_lease));
	state->items = json_array();
	if (!state->by_lease || !state->items)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_plan_take_placed(&state->trace, state->fleet, record_entry, state, &err) <
		0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	return make_placer(state);
}

static int check_words(const struct clv_defrag_settings *settings, int argc)
{
	bool is_request = settings->share.ppm || settings->memory_bytes ||
			  settings->profile || settings->count || settings->keep ||
			  settings->apply;

	if (settings->most_moves > CLV_REPACK_MOVES_MAX)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--moves takes at most %d", CLV_REPACK_MOVES_MAX);
	if (argc == 1)
		return clv_cli_fail(CLV_EXIT_USAGE, "a FLEET needs a WANTED file: name "
						    "both files, or none for this "
						    "node");
	if (argc > 0 && is_request)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the files have the requests and the leases that stay: leave out "
			"--share, --memory, --profile, --count, --keep and --apply");
	if (settings->count > CLV_PLACE_DEVICES_MAX ||
		(settings->count && (settings->share.ppm || settings->memory_bytes)))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count takes from 1 to %d whole devices",
			CLV_PLACE_DEVICES_MAX);
	return 0;
}

static int run_defrag(const void *userdata, int argc, char **argv)
{
	const struct clv_defrag_settings *settings = userdata;
	unsigned most =
		settings->most_moves ? (unsigned)settings->most_moves : USUAL_MOVES;
	struct state state = {0};
	int r = check_words(settings, argc);

	if (r || argc == 0)
		return r ? r : clv_defrag_live(settings, most);
	r = begin(&state, argv);
	if (r == 0)
		r = make_all(settings, &state, most);
	else
		json_decref(state.items);
	clv_placer_free(state.placer);
	clv_fleet_free(state.fleet);
	clv_plan_trace_done(&state.trace);
	free(state.by_lease);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_LEASE_SHARE(struct clv_defrag_settings,
		"Without files: request this share of a device's compute, as "
		"0.3"),
	CLV_OPT_LEASE_MEMORY(
		struct clv_defrag_settings, "Without files: request this memory, as 8G"),
	{
		.name = "profile",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_defrag_settings, profile),
		.argument = "PROFILE",
		.help = "Without files: request a partition of this profile; alone, a "
			"new MIG instance",
	},
	{
		.name = "count",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct clv_defrag_settings, count),
		.argument = "N",
		.help = "Without files: request N whole devices or partitions",
	},
	{
		.name = "keep",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_defrag_settings, keep),
		.argument = "LEASE[,LEASE...]",
		.help = "Without files: do not move these leases (names or ids)",
	},
	{
		.name = "moves",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct clv_defrag_settings, most_moves),
		.argument = "COUNT",
		.help = "Move at most COUNT leases for each request (default 4, at most "
			"8)",
	},
	{
		.name = "apply",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_defrag_settings, apply),
		.help = "Without files: make unused instances anew as proposed, and "
			"create the requested one; if a program would have to restart, "
			"change nothing",
	},
	CLV_OPT_YES(struct clv_defrag_settings),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_defrag = {
	.name = "defrag",
	.arguments = "[FLEET WANTED]",
	.summary = "propose the fewest moves of leases that make requests fit",
	.about = "Without files, the options are a request for an agent's node. FLEET is "
		 "a file as for cleave simulate. WANTED, in YAML, lists under placed the "
		 "leases on the fleet, and under requests what is to fit. Without "
		 "--apply nothing is moved: the output is a proposal. The exit code is "
		 "75 if a request cannot be made to fit.",
	.settings_bytes = sizeof(struct clv_defrag_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 0,
	.max_arguments = 2,
	.completes = CLV_COMPLETE_FILE,
	.run = run_defrag,
};
