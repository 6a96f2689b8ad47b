/* SPDX-License-Identifier: Apache-2.0 */
/* cleave partition: creates, destroys and lists single partitions, without a layout.
 * Creating and destroying are operations of the agent like any other; they do not change
 * the wanted layout. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/node/partitions.h"
#include "cli/node/plan-view.h"

#include <stdio.h>
#include <string.h>

struct partition_settings {
	struct clv_common common;
	struct clv_opt_place start;
	uint64_t count;
	bool yes;
};

struct part_verb {
	const char *name;
	int min_arguments, max_arguments; /* -1: any number */
	const char *arguments;
	bool has_place; /* takes --start and --count */
	int (*run)(const struct partition_settings *settings, int argc, char **argv);
};

static int fetch_node(struct clv_change *change, json_t **ret)
{
	struct clv_client_error err;

	if (clv_client_node(change->client, ret, &err) < 0)
		return clv_change_fail(change, &err);
	return 0;
}

static int show(const char *format, const json_t *list)
{
	if (clv_partitions_show(format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the partitions: %m");
	return 0;
}

static int run_list(const struct partition_settings *settings, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(&settings->common, true, &client);

	if (r)
		return r;
	if (clv_client_node(client, &node, &err) < 0)
		return clv_cli_fail_client(&err);
	if (argc && !clv_partitions_has_device(node, argv[0]))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"there is no device '%.80s': see cleave devices", argv[0]);
	list = clv_partitions_of(node, argc ? argv[0] : NULL);
	return show(settings->common.output, list);
}

/* The partition of a step; an agent may name it in the step's text only. */
static const char *partition_of(const json_t *step)
{
	static const char create[] = "create ";
	const char *partition = clv_json_text(step, "partition");
	const char *text = clv_json_text(step, "text");

	if (!partition[0] && strncmp(text, create, sizeof(create) - 1) == 0)
		return text + sizeof(create) - 1;
	return partition;
}

/* Whether name is a part of one of the items, which is listed below that item. */
static bool is_below_one_of(const json_t *items, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach (items, i, item) {
		const char *above = clv_json_text(item, "name");
		size_t length = strlen(above);

		if (strncmp(name, above, length) == 0 && name[length] == '/')
			return true;
	}
	return false;
}

static json_t *created_partitions(const json_t *node, const json_t *operation)
{
	json_t *list = json_object(), *items = json_array(), *step, *partition;
	size_t i;

	json_object_set_new(list, "items", items);
	json_array_foreach (json_object_get(operation, "steps"), i, step) {
		const char *name = partition_of(step);

		partition = clv_partitions_find(node, name);
		if (partition && !is_below_one_of(items, name))
			json_array_append(items, partition);
	}
	return list;
}

/* Prints the new partitions with their addresses and UUIDs.  A new mode or number of
 * functions replaces all partitions of the device. */
static int show_created(
	struct clv_change *change, const char *device, const json_t *operation)
{
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *list = NULL;
	int r = fetch_node(change, &node);

	if (r)
		return r;
	list = created_partitions(node, operation);
	if (json_array_size(json_object_get(list, "items")) == 0) {
		json_decref(list);
		list = clv_partitions_of(node, device);
	}
	return show(change->common->output, list);
}

/* Shows the steps and asks for confirmation if the new partition destroys others or
 * resets the device.  Returns 0 to continue, or an exit code. */
static int confirm_losses(
	struct clv_change *change, const struct clv_client_partition_request *request)
{
	const struct clv_plan_settings plain = {.common = *change->common};
	_cleanup_json_ json_t *plan = NULL;
	struct clv_client_error err;
	size_t n_losses;
	char loss[64];
	int r = 0;

	if (clv_client_partition_plan(change->client, request, &plan, &err) < 0)
		return clv_change_fail(change, &err);
	n_losses = clv_plan_count_losses(plan);
	/* The agent's refusal names the obstacles. */
	if (n_losses == 0 || clv_plan_is_blocked(plan))
		return 0;
	if (!clv_output_is_data(change->common->output) && !change->is_confirmed)
		r = clv_plan_show(&plain, plan);
	snprintf(loss, sizeof(loss), "%zu step%s something", n_losses,
		n_losses == 1 ? " destroys or resets" : "s destroy or reset");
	return r ? r : clv_change_confirm(change, "Create?", loss);
}

static int run_create(const struct partition_settings *settings, int argc, char **argv)
{
	struct clv_client_partition_request request = {
		.device = argv[0],
		.profile = argv[1],
		.has_start = settings->start.is_given,
		.start = settings->start.value,
		.count = (uint32_t)settings->count,
	};
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;
	int r;

	if (request.has_start && request.count > 1)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"only one partition can start at %u: leave out --start or "
			"--count",
			request.start);
	r = clv_change_begin(&settings->common, settings->yes, &change);
	if (!r)
		r = confirm_losses(&change, &request);
	if (r)
		return r;
	if (clv_client_partition_create(change.client, &request, &operation, &err) < 0)
		return clv_change_fail_start(&change, &err);
	r = clv_change_follow(&change, &operation);
	if (r || clv_output_is_data(settings->common.output))
		return clv_change_report(&change, operation, r);
	return show_created(&change, argv[0], operation);
}

/* Finds the partitions that the user named.  Returns 0, or an exit code after printing
 * the unknown name. */
static int find_all(const json_t *node, int argc, char **argv, json_t *items)
{
	for (int i = 0; i < argc; i++) {
		json_t *partition = clv_partitions_find(node, argv[i]);

		if (!partition)
			return clv_cli_fail(CLV_EXIT_USAGE,
				"there is no partition '%.80s': see cleave partition "
				"list",
				argv[i]);
		json_array_append(items, partition);
	}
	return 0;
}

static int destroy_one(struct clv_change *change, const char *name, json_t *operations)
{
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;
	int r;

	if (clv_client_partition_destroy(change->client, name, &operation, &err) < 0)
		return clv_change_fail_start(change, &err);
	r = clv_change_follow(change, &operation);
	json_array_append(operations, operation);
	return clv_output_is_data(change->common->output)
		       ? r
		       : clv_change_report(change, operation, r);
}

static int destroy_all(struct clv_change *change, int argc, char **argv)
{
	const char *format = change->common->output;
	_cleanup_json_ json_t *list = json_object();
	json_t *items = json_array();
	int r = CLV_EXIT_OK;

	json_object_set_new(list, "items", items);
	for (int i = 0; i < argc && r < CLV_EXIT_SIGNAL; i++) {
		int code = destroy_one(change, argv[i], items);

		r = code >= CLV_EXIT_SIGNAL || !r ? code : r;
	}
	if (clv_output_is_data(format) && clv_output_value(format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the operations: %m");
	return r;
}

static int run_destroy(const struct partition_settings *settings, int argc, char **argv)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *list = json_object();
	json_t *items = json_array();
	char loss[64];
	int r = clv_change_begin(&settings->common, settings->yes, &change);

	json_object_set_new(list, "items", items);
	if (!r)
		r = fetch_node(&change, &node);
	if (!r)
		r = find_all(node, argc, argv, items);
	if (!r && !clv_output_is_data(settings->common.output))
		r = show(settings->common.output, list);
	if (r)
		return r;
	snprintf(loss, sizeof(loss), "%d partition%s destroyed", argc,
		argc == 1 ? " would be" : "s would be");
	r = clv_change_confirm(&change, "Destroy?", loss);
	return r ? r : destroy_all(&change, argc, argv);
}

/* clang-format off */
static const struct part_verb verbs[] = {
	{ "create",  2, 2,  "DEVICE PROFILE", true,  run_create },
	{ "destroy", 1, -1, "NAME...",        false, run_destroy },
	{ "list",    0, 1,  "[DEVICE]",       false, run_list },
};
/* clang-format on */

static int check_words(
	const struct part_verb *verb, const struct partition_settings *settings, int n)
{
	if (n < verb->min_arguments ||
		(verb->max_arguments >= 0 && n > verb->max_arguments))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"write cleave partition %s [OPTION...] %s", verb->name,
			verb->arguments);
	if (!verb->has_place && (settings->start.is_given || settings->count))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"cleave partition %s takes no --start and no --count: leave them "
			"out",
			verb->name);
	return 0;
}

static int run_partition(const void *userdata, int argc, char **argv)
{
	const struct partition_settings *settings = userdata;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(verbs); i++) {
		const struct part_verb *verb = &verbs[i];
		int r;

		if (strcmp(verb->name, argv[0]) != 0)
			continue;
		r = check_words(verb, settings, argc - 1);
		return r ? r : verb->run(settings, argc - 1, argv + 1);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave partition: write create, "
		"destroy or list",
		argv[0]);
}

static const struct clv_opt options[] = {
	{
		.name = "start",
		.type = CLV_OPT_PLACE,
		.offset = CLV_OPT_AT(struct partition_settings, start),
		.argument = "N",
		.help = "create: use this place of the device (see cleave profiles); by "
			"default the place that leaves most room for others",
	},
	{
		.name = "count",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct partition_settings, count),
		.argument = "N",
		.help = "create: create N partitions; if they do not all fit, create "
			"none",
	},
	CLV_OPT_YES(struct partition_settings),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_partition = {
	.name = "partition",
	.arguments = "create DEVICE PROFILE|destroy NAME...|list [DEVICE]",
	.summary = "create, destroy or list single partitions",
	.about = "For a whole node a layout is better: see cleave apply. destroy shows "
		 "the partitions first, and destroys none that is in use. On an unused "
		 "device, create also turns on MIG, or replaces virtual functions or a "
		 "mode; it asks before a step that destroys or resets something.",
	.settings_bytes = sizeof(struct partition_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_PARTITION,
	.run = run_partition,
};
