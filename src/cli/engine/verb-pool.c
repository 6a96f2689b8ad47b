/* SPDX-License-Identifier: Apache-2.0 */
/* cleave pool: equal devices, given whole to virtual machines.  Each server's own agent
 * has the members of that server, in its layout. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/engine/pool-cluster.h"
#include "cli/engine/pool-members.h"
#include "cli/engine/pool.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/node/plan-view.h"

#include <stdio.h>
#include <string.h>

struct pool_settings {
	struct clv_common common;
	const char *template, *tool, *by;
	bool force;
};

struct part_verb {
	const char *name, *arguments;
	int min_arguments, max_arguments; /* -1: any number */
	int (*run)(const struct pool_settings *settings, int argc, char **argv);
};

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header   cell         right  fit    rank rare   key */
	{ "POOL",    NULL,        false, WHOLE, 0, false, "pool" },
	{ "MEMBER",  NULL,        false, WHOLE, 0, false, "member" },
	{ "MODEL",   NULL,        false, CUT,   3, false, "model" },
	{ "MEMORY",  cell_memory, true,  WHOLE, 2, false, NULL },
	{ "ADDRESS", NULL,        false, WHOLE, 4, false, "address" },
	{ "STATE",   NULL,        false, WHOLE, 0, false, "state" },
	{ "TO",      NULL,        false, WHOLE, 0, true,  "to" },
	{ "NOTE",    NULL,        false, WRAP,  1, true,  "note" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "member",
	.none = "no pools: cleave pool create makes one",
};

static int check_name(const char *pool)
{
	if (clv_pool_is_name(pool))
		return 0;
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.60s' is no name of a pool: at most %d letters, digits, dots, dashes "
		"and "
		"underscores, and not digits alone",
		pool, CLV_POOL_NAME_MAX - 1);
}

static int show(const struct pool_settings *s, const json_t *pool)
{
	if (clv_output_list(&listing, s->common.output, pool) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the pools: %m");
	return CLV_EXIT_OK;
}

/* Removes the members that this machine does not have. */
static void keep_of(json_t *pool, const char *vm)
{
	json_t *items = json_object_get(pool, "items");

	for (size_t i = json_array_size(items); i-- > 0;) {
		if (strcmp(clv_json_text(json_array_get(items, i), "to"), vm) != 0)
			json_array_remove(items, i);
	}
}

static int run_list(const struct pool_settings *s, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *pool = NULL;
	int r = argc > 0 ? check_name(argv[0]) : 0;

	if (!r)
		r = clv_cli_connect(&s->common, true, &client);
	if (!r)
		r = clv_pool_read(client, argc > 0 ? argv[0] : NULL, &pool);
	if (!r && argc > 1)
		keep_of(pool, argv[1]);
	return r ? r : show(s, pool);
}

/* --- Changes of the layout --- */

/* The layout with selectors that name hardware; NULL: none was applied. */
static int fetch_layout(struct clv_client *client, json_t **ret)
{
	struct clv_client_error err;

	if (clv_client_layout_get(client, true, ret, &err) == 0)
		return 0;
	*ret = NULL;
	return strcmp(err.code, "not_found") == 0 ? 0 : clv_cli_fail_client(&err);
}

/* A pool changes no hardware: a step means that the layout differs from the node. */
static int check_plan(struct clv_client *client, const struct clv_input *input)
{
	_cleanup_json_ json_t *plan = NULL;
	int r = clv_plan_fetch(client, input, &plan);

	if (r)
		return r;
	if (clv_plan_count_steps(plan) > 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the devices are not as the last layout wants them, and a pool "
			"changes none: see cleave diff, then cleave export --wanted | "
			"cleave apply -");
	return clv_plan_is_blocked(plan) ? clv_plan_fail_blocked(plan) : 0;
}

static int apply(struct clv_change *change, struct clv_input *input)
{
	struct clv_client_layout layout = {
		.text = input->text, .n_bytes = input->n_bytes, .name = input->name};
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;
	int r = check_plan(change->client, input);

	if (r)
		return r;
	if (clv_client_apply(change->client, &layout, &operation, &err) < 0)
		return clv_change_fail_start(change, &err);
	return clv_change_follow(change, &operation);
}

static int change_members(struct clv_change *change, const struct clv_pool_edit *edit)
{
	_cleanup_json_ json_t *wanted = NULL;
	_cleanup_input_ struct clv_input input = {.name = "the pool's layout"};
	struct clv_error err = {0};
	int r = fetch_layout(change->client, &wanted);

	if (r)
		return r;
	if (clv_pool_edit(wanted ? clv_json_text(wanted, "resolved") : NULL, edit,
		    &input.text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	input.n_bytes = strlen(input.text);
	return apply(change, &input);
}

static int show_members(
	const struct pool_settings *s, struct clv_client *client, const char *name)
{
	_cleanup_json_ json_t *pool = NULL;
	int r = clv_pool_read(client, name, &pool);

	return r ? r : show(s, pool);
}

static int begin(const struct pool_settings *s, const char *name,
	struct clv_change *change, json_t **ret_pool, json_t **ret_node)
{
	struct clv_client_error err;
	int r = check_name(name);

	if (!r)
		r = clv_change_begin(&s->common, true, change);
	if (!r)
		r = clv_pool_read(change->client, name, ret_pool);
	if (!r && clv_client_node(change->client, ret_node, &err) < 0)
		r = clv_change_fail(change, &err);
	return r;
}

static int run_join(const struct pool_settings *s, int argc, char **argv, bool is_new)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_json_ json_t *pool = NULL, *node = NULL;
	_cleanup_free_ const char **devices = calloc((size_t)argc, sizeof(*devices));
	struct clv_pool_edit edit = {
		.pool = argv[0], .devices = devices, .n_devices = (size_t)argc - 1};
	int r = devices ? begin(s, argv[0], &change, &pool, &node)
			: clv_cli_fail(CLV_EXIT_FAILED, "no memory");
	size_t n = json_array_size(json_object_get(pool, "items"));

	if (!r && is_new && n > 0)
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"there is a pool '%s' already: see cleave pool list, or cleave "
			"pool "
			"add",
			argv[0]);
	if (!r && !is_new && n == 0)
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"there is no pool '%s' on this server: cleave pool create makes "
			"it",
			argv[0]);
	if (!r)
		r = clv_pool_find_new(node, pool, argc - 1, argv + 1, devices);
	if (!r)
		r = change_members(&change, &edit);
	return r ? r : show_members(s, change.client, argv[0]);
}

static int run_create(const struct pool_settings *s, int argc, char **argv)
{
	return run_join(s, argc, argv, true);
}

static int run_add(const struct pool_settings *s, int argc, char **argv)
{
	return run_join(s, argc, argv, false);
}

static int run_remove(const struct pool_settings *s, int argc, char **argv)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_json_ json_t *pool = NULL, *node = NULL;
	_cleanup_free_ const char **devices = NULL;
	struct clv_pool_edit edit = {.pool = argv[0], .is_removal = true};
	int r = begin(s, argv[0], &change, &pool, &node);
	size_t n = json_array_size(json_object_get(pool, "items"));

	if (!r && n == 0)
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"there is no pool '%s' on this server: see cleave pool list",
			argv[0]);
	devices = calloc(n + 1, sizeof(*devices));
	edit.devices = devices;
	if (!r && !devices)
		r = clv_cli_fail(CLV_EXIT_FAILED, "no memory");
	if (!r)
		r = clv_pool_find_leaving(
			node, pool, argc - 1, argv + 1, devices, &edit.n_devices);
	return r ? r : change_members(&change, &edit);
}

/* --- Virtual machines --- */

/* The members that these leases have, as a list. */
static int show_assigned(const struct pool_settings *s, struct clv_client *client,
	const char *name, const json_t *leases)
{
	_cleanup_json_ json_t *pool = NULL;
	_cleanup_json_ json_t *list = json_pack("{s:[]}", "items");
	json_t *lease;
	size_t i;
	int r = clv_pool_read(client, name, &pool);

	if (r)
		return r;
	json_array_foreach (leases, i, lease)
		json_array_append(json_object_get(list, "items"),
			clv_pool_find(pool, json_string_value(lease)));
	return show(s, list);
}

static int assign_one(const struct pool_settings *s, struct clv_client *client,
	const char *pool, const char *vm, json_t *leases)
{
	struct clv_client_lease_request request = {.name = vm,
		.in = pool,
		.keep = true,
		.command = s->by ? s->by : "cleave pool assign"};
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;

	if (clv_client_lease_create(client, &request, &lease, &err) < 0)
		return clv_cli_fail_named(vm, &err);
	json_array_append(leases, json_object_get(lease, "id"));
	return 0;
}

/* All machines get a member, or none does. */
static int run_assign(const struct pool_settings *s, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *leases = json_array();
	json_t *lease;
	size_t i;
	int r = check_name(argv[0]);

	if (!r)
		r = clv_cli_connect(&s->common, true, &client);
	for (int k = 1; k < argc && !r; k++)
		r = assign_one(s, client, argv[0], argv[k], leases);
	if (!r)
		return show_assigned(s, client, argv[0], leases);
	json_array_foreach (leases, i, lease)
		clv_client_lease_release(client, json_string_value(lease), false, NULL);
	return r;
}

static int unassign_one(const struct pool_settings *s, struct clv_client *client,
	const char *pool, const char *vm)
{
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	const char *in;

	if (clv_client_lease(client, vm, &lease, &err) < 0)
		return clv_cli_fail_named(vm, &err);
	in = strrchr(clv_json_text(lease, "in"), '/');
	if (!in || strcmp(in + 1, pool) != 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the lease '%.64s' has no device of the pool %s: see cleave pool "
			"list, or cleave release",
			vm, pool);
	if (clv_client_lease_release(client, clv_json_text(lease, "id"), s->force, &err) <
		0)
		return clv_cli_fail_named(vm, &err);
	return 0;
}

static int run_unassign(const struct pool_settings *s, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	int r = check_name(argv[0]), result = 0;

	if (!r)
		r = clv_cli_connect(&s->common, false, &client);
	if (r)
		return r;
	for (int i = 1; i < argc; i++) {
		r = unassign_one(s, client, argv[0], argv[i]);
		if (r && !result)
			result = r;
	}
	return result;
}

static int run_pacemaker(const struct pool_settings *s, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *pool = NULL;
	struct clv_pool_cluster cluster = {.pool = argv[0],
		.vm = argv[1],
		.template = s->template,
		.tool = s->tool ? s->tool : "crm"};
	int r = check_name(argv[0]);

	if (!r && !clv_pool_is_name(argv[1]))
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"'%.60s' cannot be the name of a resource of Pacemaker: use at "
			"most "
			"%d letters, digits, dots, dashes and underscores",
			argv[1], CLV_POOL_NAME_MAX - 1);
	if (!r && s->template && strchr(s->template, '\''))
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"--template: a path with a quote cannot be printed as a command");
	if (!r)
		r = clv_cli_connect(&s->common, true, &client);
	if (!r)
		r = clv_pool_read(client, argv[0], &pool);
	if (r)
		return r;
	cluster.model =
		clv_json_text(json_array_get(json_object_get(pool, "items"), 0), "model");
	if (!cluster.model[0])
		return clv_cli_fail(CLV_EXIT_USAGE,
			"there is no pool '%s' on this server: cleave pool create makes "
			"it",
			argv[0]);
	clv_pool_cluster_write(stdout, &cluster);
	return fflush(stdout) == 0 ? CLV_EXIT_OK
				   : clv_cli_fail(CLV_EXIT_FAILED, "cannot write: %m");
}

/* clang-format off */
static const struct part_verb verbs[] = {
	{ "create",    "POOL DEVICE...",   2, -1, run_create },
	{ "add",       "POOL DEVICE...",   2, -1, run_add },
	{ "remove",    "POOL [DEVICE...]", 1, -1, run_remove },
	{ "list",      "[POOL [VM]]",      0, 2,  run_list },
	{ "assign",    "POOL VM...",       2, -1, run_assign },
	{ "unassign",  "POOL VM...",       2, -1, run_unassign },
	{ "pacemaker", "POOL VM",          2, 2,  run_pacemaker },
};
/* clang-format on */

static int run_pool(const void *userdata, int argc, char **argv)
{
	const struct pool_settings *settings = userdata;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(verbs); i++) {
		const struct part_verb *verb = &verbs[i];

		if (strcmp(verb->name, argv[0]) != 0)
			continue;
		if (argc - 1 < verb->min_arguments ||
			(verb->max_arguments >= 0 && argc - 1 > verb->max_arguments))
			return clv_cli_fail(CLV_EXIT_USAGE, "write cleave pool %s %s",
				verb->name, verb->arguments);
		return verb->run(settings, argc - 1, argv + 1);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave pool: write create, add, remove, "
		"list, "
		"assign, unassign or pacemaker",
		argv[0]);
}

static const char *const tools[] = {"crm", "pcs", NULL};

static const struct clv_opt options[] = {
	{
		.name = "force",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct pool_settings, force),
		.help = "unassign: end processes that are attached to the lease first",
	},
	{
		.name = "tool",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct pool_settings, tool),
		.argument = "crm|pcs",
		.choices = tools,
		.help = "pacemaker: print the commands of crm (the default) or of pcs",
	},
	{
		.name = "template",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct pool_settings, template),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "pacemaker: the domain's XML without a GPU, at the same path on "
			"all "
			"nodes (default /etc/libvirt/qemu/VM.xml)",
	},
	{
		.name = "by",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct pool_settings, by),
		.argument = "TEXT",
		.help = "assign: what cleave ps shows as the lease's command",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_pool = {
	.name = "pool",
	.arguments = "create|add|remove|list|assign|unassign|pacemaker [POOL...]",
	.summary = "pools of equal devices, given whole to virtual machines",
	.about =
		"A pool has the same name on all servers, and equal devices. Its members "
		"are standing shares in the layout of each server's agent: create, add "
		"and "
		"remove change that layout. assign gives a free member to each of the "
		"virtual machines, as a kept lease with the machine's name; pacemaker "
		"prints the commands by which a cluster does that.",
	.settings_bytes = sizeof(struct pool_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.run = run_pool,
};
