/* SPDX-License-Identifier: Apache-2.0 */
/* Policies, fleet files and a progress bar, for the verbs about described fleets. */
#include "cli/fleet/scenario.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "core/place/policy.h"
#include "simulate/source.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BAR_WIDTH 40
/* Logs of jobs keep each line: there are few, and none of a short run. */
#define NOTE_EVERY_NS (3 * CLV_NS_PER_S)

static int fail_policy(const char *name)
{
	const char *names[CLV_SCENARIO_POLICIES_MAX];
	size_t n = 0;
	const char *near;
	char all[256];

	while (n < clv_place_n_policies && n < CLV_SCENARIO_POLICIES_MAX) {
		names[n] = clv_place_policies[n].name;
		n++;
	}
	near = clv_suggest(name, names, n);
	clv_place_list_policies(all, sizeof(all));
	if (near)
		return -clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a policy: did you mean '%s'?", name, near);
	return -clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a policy: the policies are %s", name, all);
}

int clv_scenario_policies(const char *text, const char *usual,
	const struct clv_place_policy *ret[CLV_SCENARIO_POLICIES_MAX])
{
	char words[256], *rest = words, *name;
	int n = 0;

	if (!text)
		text = usual;
	if (strlen(text) >= sizeof(words))
		return -clv_cli_fail(CLV_EXIT_USAGE, "too many policies");
	memcpy(words, text, strlen(text) + 1);
	while ((name = strsep(&rest, ","))) {
		if (n == CLV_SCENARIO_POLICIES_MAX)
			return -clv_cli_fail(CLV_EXIT_USAGE,
				"too many policies: at most %d",
				CLV_SCENARIO_POLICIES_MAX);
		ret[n] = clv_place_policy_find(name);
		if (!ret[n++])
			return fail_policy(name);
	}
	return n;
}

int clv_scenario_read_fleet(const char *path, struct clv_fleet **ret)
{
	_cleanup_fleet_ struct clv_fleet *fleet = clv_fleet_new();
	struct clv_error err;

	if (!fleet)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_source_read_fleet(path, fleet, NULL, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	*ret = CLV_TAKE(fleet);
	return 0;
}

void clv_scenario_note(const char *format, ...)
{
	static uint64_t last_ns; /* the first line comes that long after the start */
	uint64_t now_ns = clv_clock_ns();
	char text[256];
	va_list args;

	if (last_ns == 0)
		last_ns = now_ns;
	if (now_ns - last_ns < NOTE_EVERY_NS)
		return;
	last_ns = now_ns;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	clv_cli_fail(0, "%s", text);
}

void clv_scenario_progress(void *userdata, double part)
{
	char bar[BAR_WIDTH + 1];
	int n_full;

	(void)userdata;
	if (!clv_terminal_is_live(stderr)) {
		if (part >= 0)
			clv_scenario_note("%.0f %% of the trace is played",
				part < 1 ? 100 * part : 100);
		return;
	}
	if (part < 0) {
		fprintf(stderr, "\r\033[K");
		return;
	}
	n_full = part < 1 ? (int)(part * BAR_WIDTH) : BAR_WIDTH;
	memset(bar, ' ', BAR_WIDTH);
	memset(bar, '#', (size_t)n_full);
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3.0f %%", bar, part < 1 ? 100 * part : 100);
	fflush(stderr);
}
