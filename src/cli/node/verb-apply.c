/* SPDX-License-Identifier: Apache-2.0 */
/* cleave apply: shows the plan, asks for confirmation, and has the agent carry it out.
 * The agent plans again when it begins, so the steps may differ from the plan that was
 * shown.
 */
#include "cli/frame/verbs.h"

#include "base/text.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/node/holders.h"
#include "cli/node/plan-view.h"

#include <stdio.h>
#include <string.h>

struct apply_settings {
	struct clv_plan_settings plan;
	const char *on_busy;
	const char *operation;
	bool dry_run;
	bool only;
	bool yes;
};

struct apply {
	const struct apply_settings *settings;
	struct clv_change change;
};

static const char *on_busy_of(const struct apply_settings *settings, const json_t *plan)
{
	return settings->on_busy ? settings->on_busy : clv_json_text(plan, "on_busy");
}

/* Lists all holders on the devices that the plan concerns. */
static int list_holders(struct apply *apply, const json_t *plan)
{
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *rows = json_array();
	struct clv_client_error err;
	json_t *device;
	size_t i;

	if (clv_client_node(apply->change.client, &node, &err) < 0)
		return clv_change_fail(&apply->change, &err);
	json_array_foreach (json_object_get(node, "devices"), i, device) {
		_cleanup_json_ json_t *held = NULL;

		if (!clv_plan_is_about(plan, clv_json_text(device, "name")))
			continue;
		held = clv_holders_of_device(device);
		json_array_extend(rows, held);
	}
	printf("\nAll holders on these devices:\n");
	clv_output_rows(&clv_listing_holders, NULL, rows);
	return 0;
}

static int refuse(struct apply *apply, const json_t *plan)
{
	const struct apply_settings *s = apply->settings;

	if (strcmp(on_busy_of(s, plan), "list") == 0 &&
		!clv_output_is_data(s->plan.common.output)) {
		int r = list_holders(apply, plan);

		if (r)
			return r;
	}
	return clv_plan_fail_blocked(plan);
}

/* "1 step destroys or resets something"; empty if nothing is lost. */
static void describe_loss(const json_t *plan, char *ret, size_t ret_bytes)
{
	size_t n_steps = clv_plan_count_losses(plan);
	size_t n_shares = clv_plan_count_lost_shares(plan);
	char text[64];

	ret[0] = '\0';
	snprintf(text, sizeof(text), "%zu step%s something", n_steps,
		n_steps == 1 ? " destroys or resets" : "s destroy or reset");
	if (n_steps > 0)
		clv_text_list(ret, ret_bytes, text);
	snprintf(text, sizeof(text), "%zu standing share%s removed", n_shares,
		n_shares == 1 ? " is" : "s are");
	if (n_shares > 0)
		clv_text_list(ret, ret_bytes, text);
}

/* Shows the plan and asks for confirmation.  Returns 0 to continue, or an exit code. */
static int confirm_plan(struct apply *apply, const json_t *plan)
{
	bool is_blocked = clv_plan_is_blocked(plan);
	bool waits = strcmp(on_busy_of(apply->settings, plan), "wait") == 0;
	char loss[96];
	int r = 0;

	/* JSON and YAML are one object: the plan only if no operation follows. */
	if (clv_output_is_data(apply->settings->plan.common.output) &&
		(!is_blocked || waits))
		clv_plan_warn(plan);
	else
		r = clv_plan_show(&apply->settings->plan, plan);
	if (r)
		return r;
	if (is_blocked && !waits)
		return refuse(apply, plan);
	describe_loss(plan, loss, sizeof(loss));
	if (clv_plan_count_steps(plan) == 0 && !loss[0])
		return 0;
	return clv_change_confirm(&apply->change, "Apply?", loss[0] ? loss : NULL);
}

static int start(struct apply *apply, const struct clv_input *input, json_t **ret)
{
	struct clv_client_layout layout = {
		.text = input->text,
		.n_bytes = input->n_bytes,
		.name = input->name,
		.on_busy = apply->settings->on_busy,
		.only = apply->settings->only,
	};
	struct clv_client_error err;

	if (clv_client_apply(apply->change.client, &layout, ret, &err) < 0)
		return clv_change_fail_start(&apply->change, &err);
	return 0;
}

static int follow_to_end(struct apply *apply, json_t **operation)
{
	int r = clv_change_follow(&apply->change, operation);

	return clv_change_report(&apply->change, *operation, r);
}

static int carry_out(struct apply *apply, const struct clv_input *input)
{
	_cleanup_json_ json_t *plan = NULL;
	_cleanup_json_ json_t *operation = NULL;
	int r = clv_plan_fetch(apply->change.client, input, &plan);

	if (r)
		return r;
	if (apply->settings->dry_run) {
		r = clv_plan_show(&apply->settings->plan, plan);
		return !r && clv_plan_is_blocked(plan) ? refuse(apply, plan) : r;
	}
	r = confirm_plan(apply, plan);
	if (!r)
		r = start(apply, input, &operation);
	return r ? r : follow_to_end(apply, &operation);
}

/* Follows an operation that another process began. */
static int follow_again(struct apply *apply)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	_cleanup_json_ json_t *operation = NULL;
	const char *id = apply->settings->operation;
	struct clv_client_error err;

	if (id[strspn(id, allowed)])
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--follow: '%.80s' is not the id of an operation, such as "
			"o182464b2e3bd46e8",
			id);
	if (clv_client_operation(apply->change.client, apply->settings->operation,
		    &operation, &err) < 0)
		return clv_change_fail(&apply->change, &err);
	return follow_to_end(apply, &operation);
}

static int run_apply(const void *userdata, int argc, char **argv)
{
	const struct apply_settings *settings = userdata;
	struct apply apply = {.settings = settings, .change.signal_fd = -1};
	_cleanup_input_ struct clv_input input = {};
	int r = 0;

	if ((argc > 0) == (settings->operation != NULL))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"nothing to apply: name one layout file, "
			"or an operation with --follow");
	if (argc > 0)
		r = clv_input_read(argv[0], CLV_INPUT_LAYOUT_BYTES, &input);
	if (!r)
		r = clv_change_begin(
			&settings->plan.common, settings->yes, &apply.change);
	if (!r)
		r = argc > 0 ? carry_out(&apply, &input) : follow_again(&apply);
	clv_change_end(&apply.change);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_YES(struct apply_settings),
	{
		.name = "dry-run",
		.letter = 'n',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct apply_settings, dry_run),
		.help = "Show the plan and change nothing, as cleave plan does",
	},
	{
		.name = "on-busy",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct apply_settings, on_busy),
		.argument = "WHAT",
		.choices = clv_opt_busy,
		.help = "What to do if a partition or device that must change is in use: "
			"fail, wait until its holders have ended, or list all holders "
			"and fail; by default as the layout says",
	},
	{
		.name = "only",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct apply_settings, only),
		.help = "Keep this layout alone: forget what earlier layouts say of "
			"devices that it does not select",
	},
	{
		.name = "follow",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct apply_settings, operation),
		.argument = "ID",
		.help = "Follow this operation, which runs in the agent, instead of "
			"starting a new one",
	},
	CLV_OPT_EXPLAIN(struct clv_plan_settings),
	CLV_OPT_VERBOSE(struct clv_plan_settings,
		"Also list the partitions that stay, and the standing shares of the "
		"layout"),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_apply = {
	.name = "apply",
	.arguments = "FILE",
	.summary = "divide the node's devices as a layout says",
	.about = "Shows the plan and asks for confirmation. Partitions and devices in "
		 "use are not changed. The operation continues in the agent even if "
		 "this command ends; a failed operation is undone as far as possible.",
	.settings_bytes = sizeof(struct apply_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_apply,
};
