/* SPDX-License-Identifier: Apache-2.0 */
/* cleave ps: the caller's leases (root: all), what each was promised and what it
 * uses. */
#include "cli/frame/verbs.h"

#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>
#include <string.h>

static void cell_name(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "name"));
}

static void cell_tenant(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "tenant"));
}

static void cell_device(const json_t *row, char ret[CLV_CELL_MAX])
{
	size_t n = json_array_size(json_object_get(row, "devices"));

	if (n > 1)
		snprintf(ret, CLV_CELL_MAX, "%s +%zu", clv_json_text(row, "device"),
			n - 1);
	else
		snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "device"));
}

static void cell_state(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *state = clv_json_text(row, "state");
	double position = clv_json_number(row, "queue_position");

	if (position > 0)
		snprintf(ret, CLV_CELL_MAX, "%s %.0f", state, position);
	else if (strcmp(state, "active") == 0 && clv_json_flag(row, "holding"))
		snprintf(ret, CLV_CELL_MAX, "holding");
	else if (strcmp(state, "active") == 0 && clv_json_flag(row, "waiting"))
		snprintf(ret, CLV_CELL_MAX, "waiting");
	else
		snprintf(ret, CLV_CELL_MAX, "%s", state);
}

static void cell_share(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *range = json_object_get(row, "share_range");
	char least[CLV_CELL_MAX], most[CLV_CELL_MAX], now[CLV_CELL_MAX];

	clv_cell_percent(clv_json_number(row, "share"), now);
	if (!json_is_object(range)) {
		memcpy(ret, now, CLV_CELL_MAX);
		return;
	}
	clv_cell_percent(clv_json_number(range, "least"), least);
	clv_cell_percent(clv_json_number(range, "most"), most);
	snprintf(ret, CLV_CELL_MAX, "%.16s of %.16s..%.16s", now, least, most);
}

static void cell_used(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_percent(clv_json_number(row, "share_used"), ret);
}

static void cell_cap(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (json_is_number(json_object_get(row, "cap")))
		clv_cell_percent(clv_json_number(row, "cap"), ret);
	else
		strcpy(ret, "-");
}

static void cell_quota(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_bytes"), ret);
}

static void cell_memory_used(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes(clv_json_bytes(row, "memory_used_bytes"), ret);
}

static void cell_class(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "class"));
}

static void cell_processes(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%zu",
		json_array_size(json_object_get(row, "processes")));
}

static void cell_age(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_age(clv_json_text(row, "created_at"), ret);
}

static void cell_command(const json_t *row, char ret[CLV_CELL_MAX])
{
	bool is_machine = clv_json_text(row, "holder")[0] != '\0';

	snprintf(ret, CLV_CELL_MAX, "%s%s", is_machine ? "virtual machine " : "",
		clv_json_text(row, "command"));
}

static void cell_sm(const json_t *row, char ret[CLV_CELL_MAX])
{
	const json_t *sm = json_object_get(row, "sm");

	ret[0] = '\0';
	if (json_is_object(sm))
		clv_cell_percent(clv_json_number(sm, "fraction"), ret);
}

static bool is_sm_unenforced(const json_t *row)
{
	return strcmp(clv_json_text(json_object_get(row, "sm"), "held_by"), "nothing") ==
	       0;
}

/* Conditions of the lease that its owner should know. */
static void cell_note(const json_t *row, char ret[CLV_CELL_MAX])
{
	uint64_t spilled_bytes = clv_json_bytes(row, "spilled_bytes");
	char spilled[CLV_CELL_MAX];
	json_t *api;
	size_t i, used;

	snprintf(ret, CLV_CELL_MAX, "%s%s",
		clv_json_flag(row, "over_quota") ? "over quota" : "",
		clv_json_flag(row, "throttled") ? ", throttled" : "");
	if (clv_json_flag(row, "past_gate")) {
		used = strlen(ret);
		snprintf(ret + used, CLV_CELL_MAX - used, "%sbypasses its gate",
			used ? ", " : "");
	}
	if (spilled_bytes > 0) {
		used = strlen(ret);
		clv_cell_bytes(spilled_bytes, spilled);
		snprintf(ret + used, CLV_CELL_MAX - used, "%s%.32s spilled",
			used ? ", " : "", spilled);
	}
	if (is_sm_unenforced(row)) {
		used = strlen(ret);
		snprintf(ret + used, CLV_CELL_MAX - used, "%sSM limit not enforced",
			used ? ", " : "");
	}
	json_array_foreach (json_object_get(row, "uses_ungated"), i, api) {
		used = strlen(ret);
		snprintf(ret + used, CLV_CELL_MAX - used, "%sungated %s",
			used ? ", " : "", json_string_value(api));
	}
}

static void cell_debt(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_debt(clv_json_number(row, "tenant_debt_seconds"), ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell              right  fit    rank rare */
	{ "NAME",    cell_name,        false, WHOLE, 0 },
	{ "TENANT",  cell_tenant,      false, CUT,   8 },
	{ "DEVICE",  cell_device,      false, WHOLE, 5 },
	{ "STATE",   cell_state,       false, WHOLE, 3 },
	{ "SHARE",   cell_share,       true,  WHOLE, 0 },
	{ "USED",    cell_used,        true,  WHOLE, 0 },
	{ "CAP",     cell_cap,         true,  WHOLE, 7 },
	{ "SM",      cell_sm,          true,  WHOLE, 7, true },
	{ "QUOTA",   cell_quota,       true,  WHOLE, 1 },
	{ "MEMORY",  cell_memory_used, true,  WHOLE, 2 },
	{ "CLASS",   cell_class,       false, WHOLE, 6 },
	{ "PROCS",   cell_processes,   true,  WHOLE, 4 },
	{ "AGE",     cell_age,         true,  WHOLE, 6 },
	{ "DEBT",    cell_debt,        true,  WHOLE, 7, true },
	{ "NOTE",    cell_note,        false, WRAP,  3, true },
	{ "COMMAND", cell_command,     false, CUT,   5 },
	/* clang-format on */
};

const struct clv_listing clv_listing_leases = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no leases: cleave run creates one",
};

static int run_ps(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	return clv_cli_list(settings, false, clv_client_leases, &clv_listing_leases);
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_ps = {
	.name = "ps",
	.summary = "list your leases: share promised, share used, memory, state",
	.about = "Root sees the leases of all users. USED is the part of the device "
		 "held over the last second, MEMORY the allocated part of the QUOTA.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_ps,
};
