/* SPDX-License-Identifier: Apache-2.0 */
/* cleave doctor: reports why this machine cannot run shares, and what to do.  checks.c
 * has the checks of the machine; this file checks the agent, and starts it if none runs,
 * since the start is checked as well. */
#include "cli/frame/verbs.h"

#include "cli/admin/checks-vm.h"
#include "cli/admin/checks.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/partitions.h"

#include <stdio.h>
#include <string.h>

static void cell_check(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "check"));
}

static void cell_verdict(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "verdict"));
}

static void cell_found(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%s", clv_json_text(row, "found"));
}

static const struct clv_column columns[] = {
	{"CHECK", cell_check, false, WHOLE, 0},
	{"VERDICT", cell_verdict, false, WHOLE, 0},
	{"FOUND", cell_found, false, WRAP, 0},
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "check",
	.none = "nothing was checked",
};

static void add(json_t *items, const char *name, const char *why,
	const struct clv_finding *finding)
{
	json_t *item = json_object();

	json_object_set_new(item, "check", json_string(name));
	json_object_set_new(
		item, "verdict", json_string(clv_verdict_to_string(finding->verdict)));
	json_object_set_new(item, "found", json_string(finding->found));
	json_object_set_new(item, "needed_because", json_string(why));
	json_object_set_new(item, "remedy",
		finding->remedy[0] ? json_string(finding->remedy) : json_null());
	json_array_append_new(items, item);
}

static void ask_agent(const struct clv_common *settings, struct clv_client **client,
	struct clv_finding *ret)
{
	struct clv_client_options options = clv_cli_options(settings, true);
	_cleanup_json_ json_t *version = NULL;
	struct clv_client_error err;

	if (clv_client_new(&options, client, &err) < 0 ||
		clv_client_version(*client, &version, &err) < 0)
		clv_finding_set(ret, CLV_VERDICT_FAIL,
			"fix what the message says, then run cleave doctor again",
			"%.380s", err.msg);
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "version %.32s, pid %.0f, on %s",
			clv_json_text(version, "version"),
			clv_json_number(version, "pid"), clv_client_get_socket(*client));
}

/* Whether the agent can write its state, and so grant leases.  Asked when the drivers
 * have listed their devices, for which it is not ready either. */
static void ask_state(struct clv_client *client, struct clv_finding *ret)
{
	struct clv_client_error err;

	if (!client)
		clv_finding_set(
			ret, CLV_VERDICT_FAIL, "fix the agent first", "no agent answers");
	else if (clv_client_ready(client, &err) < 0)
		clv_finding_set(ret, CLV_VERDICT_FAIL,
			"do what the message says; running leases continue meanwhile",
			"%.380s", err.msg);
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "the agent can write its state");
}

static void ask_devices(struct clv_client *client, struct clv_finding *ret)
{
	_cleanup_json_ json_t *devices = NULL;
	struct clv_client_error err;
	char names[256] = "";
	json_t *device;
	size_t i;

	if (!client || clv_client_devices(client, &devices, &err) < 0) {
		clv_finding_set(
			ret, CLV_VERDICT_FAIL, "fix the agent first", "no agent answers");
		return;
	}
	json_array_foreach (json_object_get(devices, "items"), i, device) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s (%.60s)",
			i ? ", " : "", clv_json_text(device, "name"),
			clv_json_text(device, "model"));
	}
	if (names[0])
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%s", names);
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL,
			"see opencl-loader and opencl-vendors, and the agent's log",
			"the agent found no device");
}

static void ask_iommu(struct clv_client *client, struct clv_finding *ret)
{
	_cleanup_json_ json_t *node = NULL;

	if (client)
		clv_client_node(client, &node, NULL);
	clv_check_iommu(node, ret);
}

/* Appends "gpu0 (NVIDIA X): text". */
static void remark_on(const json_t *device, const char *text, char *ret, size_t ret_bytes)
{
	size_t used = strlen(ret);

	snprintf(ret + used, ret_bytes - used, "%s%.20s (%.60s): %s", used ? "; " : "",
		clv_json_text(device, "name"), clv_json_text(device, "model"), text);
}

/* Whether all drivers have answered, and whether tables check what they say. */
static void ask_drivers(struct clv_client *client, struct clv_finding *ret)
{
	_cleanup_json_ json_t *node = NULL;
	struct clv_client_error err;
	char found[380] = "";
	const char *text;
	json_t *item;
	size_t i;

	if (!client || clv_client_node(client, &node, &err) < 0) {
		clv_finding_set(ret, CLV_VERDICT_WARN, "fix the agent first",
			"the agent does not say what the drivers have answered");
		return;
	}
	json_array_foreach (json_object_get(node, "problems"), i, item) {
		size_t used = strlen(found);

		snprintf(found + used, sizeof(found) - used, "%s%s", used ? "; " : "",
			json_is_string(item) ? json_string_value(item) : "");
	}
	if (found[0]) {
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"do what the message says; the agent asks the driver again by "
			"itself, at least once a minute",
			"%s", found);
		return;
	}
	json_array_foreach (json_object_get(node, "devices"), i, item) {
		text = clv_partitions_unchecked(item);
		if (text)
			remark_on(item, text, found, sizeof(found));
	}
	clv_finding_set(ret, found[0] ? CLV_VERDICT_INFO : CLV_VERDICT_OK, "", "%s",
		found[0] ? found : "all drivers have answered");
}

static void describe_waiting(const json_t *device, char *ret, size_t ret_bytes)
{
	const char *why = clv_json_text(device, "why");
	size_t used = strlen(ret);

	/* While it is applied there is nothing to explain. */
	snprintf(ret + used, ret_bytes - used, "%s%.20s%s%.60s%s: %.200s",
		used ? "; " : "", clv_json_text(device, "name"),
		clv_json_text(device, "name")[0] ? " (" : "",
		clv_json_text(device, "uuid"),
		clv_json_text(device, "name")[0] ? ")" : "",
		why[0] ? why : clv_json_text(device, "state"));
}

/* Whether the kept layout is applied now, on each device. */
static void ask_layout(struct clv_client *client, struct clv_finding *ret)
{
	_cleanup_json_ json_t *wanted = NULL;
	size_t i, n_waiting = 0, n = 0;
	struct clv_client_error err;
	char waiting[380] = "";
	json_t *device;
	int r;

	r = client ? clv_client_layout_get(client, true, &wanted, &err) : 0;
	if (r < 0 && strcmp(err.code, "not_found") != 0) {
		clv_finding_set(ret, CLV_VERDICT_WARN, "", "%s", err.msg);
		return;
	}
	if (!wanted) {
		clv_finding_set(ret, CLV_VERDICT_INFO, "", "no layout was applied");
		return;
	}
	json_array_foreach (json_object_get(wanted, "devices"), i, device) {
		n++;
		if (strcmp(clv_json_text(device, "state"), "applied") == 0)
			continue;
		if (n_waiting++ < 3)
			describe_waiting(device, waiting, sizeof(waiting));
	}
	if (n_waiting == 0)
		clv_finding_set(ret, CLV_VERDICT_OK, "",
			"the kept one is applied on its %zu device%s", n,
			n == 1 ? "" : "s");
	else
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"see cleave diff; end the holders that it names, or apply a "
			"layout without the device with cleave apply --only",
			"%s", waiting);
}

static bool fill_report(const struct clv_common *settings, json_t *items)
{
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_finding finding;
	bool is_able = true;

	for (size_t i = 0; i < clv_n_checks; i++) {
		clv_checks[i].ask(&finding);
		is_able = is_able && finding.verdict != CLV_VERDICT_FAIL;
		add(items, clv_checks[i].name, clv_checks[i].why, &finding);
	}
	ask_agent(settings, &client, &finding);
	is_able = is_able && finding.verdict != CLV_VERDICT_FAIL;
	add(items, "agent", "it grants leases", &finding);
	ask_devices(client, &finding);
	is_able = is_able && finding.verdict != CLV_VERDICT_FAIL;
	add(items, "devices", "at least one device is needed", &finding);
	ask_drivers(client, &finding);
	add(items, "drivers", "devices of a driver that fails are missing", &finding);
	ask_iommu(client, &finding);
	add(items, "iommu", "virtual machines can be given virtual functions", &finding);
	ask_state(client, &finding);
	is_able = is_able && finding.verdict != CLV_VERDICT_FAIL;
	add(items, "state", "a new lease is written before it is granted", &finding);
	ask_layout(client, &finding);
	add(items, "layout", "the agent applies it again at its start", &finding);
	return is_able;
}

static void print_remedies(const json_t *items, bool is_able)
{
	json_t *item;
	size_t i;

	json_array_foreach (items, i, item) {
		if (clv_json_text(item, "remedy")[0])
			printf("\n%s: %s\n  needed because: %s\n  what to do: %s\n",
				clv_json_text(item, "check"),
				clv_json_text(item, "found"),
				clv_json_text(item, "needed_because"),
				clv_json_text(item, "remedy"));
	}
	printf("\n%s\n", is_able ? "This machine can run shares."
				 : "This machine cannot run shares yet.");
}

static int run_doctor(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_json_ json_t *report = json_object();
	json_t *items = json_array();
	bool is_able = fill_report(settings, items);

	json_object_set_new(report, "items", items);
	json_object_set_new(report, "can_run_shares", json_boolean(is_able));
	if (clv_output_list(&listing, settings->output, report) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the report: %m");
	if (!settings->output || strcmp(settings->output, "table") == 0)
		print_remedies(items, is_able);

	return is_able ? CLV_EXIT_OK : CLV_EXIT_FALSE;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_doctor = {
	.name = "doctor",
	.summary = "check what shares need on this machine, and say what to do",
	.about =
		"Changes nothing, but starts the user's agent when none runs. Exits with "
		"0 when shares can run here, else with 1.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_doctor,
};
