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
#include "simulate/capacity/capacity.h"
#include "simulate/files/nodes.h"
#include "simulate/files/snapshot.h"
#include "simulate/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAR_WIDTH 40
/* Of relative speeds; they are kept in thousandths. */
#define SPEED_MIN 0.001
#define SPEED_MAX 1000
/* Logs of jobs keep each line: there are few, and none of a short run. */
#define NOTE_EVERY_NS (3 * CLV_NS_PER_S)
/* Of a pipe, so that one without an end does not fill the memory. */
#define STREAM_MAX_BYTES (UINT64_C(2) << 30)

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

/* Copies the stream into a file in memory and returns its descriptor, which stays open,
 * or -errno. */
static int copy_stream(int from)
{
	_cleanup_close_ int fd = memfd_create("cleave-input", MFD_CLOEXEC);
	char data[1 << 16];

	if (fd < 0)
		return -errno;
	for (uint64_t n_bytes = 0;;) {
		ssize_t n = read(from, data, sizeof(data));

		if (n > 0 && (n_bytes += (uint64_t)n) > STREAM_MAX_BYTES)
			return -EFBIG;
		if (n == 0)
			return CLV_TAKE_FD(fd);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t at = 0, done; at < n; at += done) {
			done = write(fd, data + at, (size_t)(n - at));
			if (done < 0)
				return -errno;
		}
	}
}

static int keep_file(char **word)
{
	bool is_stdin = strcmp(*word, "-") == 0;
	struct stat status;
	int from, fd;

	/* A file that is missing has its error where it is read. */
	if (is_stdin ? fstat(0, &status) < 0 : stat(*word, &status) < 0)
		return 0;
	if (!is_stdin && !S_ISFIFO(status.st_mode))
		return 0;
	from = is_stdin ? 0 : open(*word, O_RDONLY | O_CLOEXEC);
	fd = from < 0 ? -errno : copy_stream(from);
	if (from > 0)
		close(from);
	if (fd < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "cannot read %.200s: %s", *word,
			strerror(-fd));
	if (asprintf(word, "/dev/fd/%d", fd) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	return 0;
}

int clv_scenario_keep_files(int argc, char **argv)
{
	int r = 0;

	for (int i = 0; r == 0 && i < argc; i++)
		r = keep_file(&argv[i]);
	return r;
}

void clv_scenario_tell_odd(const char *path, const struct clv_snapshot_odd *odd)
{
	if (odd->n > 0)
		clv_cli_fail(0, "%.200s: %" PRIu64 " left out: %s%s", path, odd->n,
			odd->first, odd->n > 1 ? ", and others" : "");
}

static int read_nodes(const char *path, struct clv_fleet **ret,
	struct clv_node_notes *notes, struct clv_snapshot **ret_snapshot)
{
	_cleanup_fleet_ struct clv_fleet *fleet = clv_fleet_new();
	struct clv_snapshot_odd odd = {0};
	struct clv_error err;

	if (!fleet)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_source_read_fleet(path, fleet, notes, ret_snapshot, &odd, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	clv_scenario_tell_odd(path, &odd);
	*ret = CLV_TAKE(fleet);
	return 0;
}

int clv_scenario_read_nodes(
	const char *path, struct clv_fleet **ret, struct clv_node_notes *notes)
{
	_cleanup_snapshot_ struct clv_snapshot *snapshot = NULL;

	return read_nodes(path, ret, notes, &snapshot);
}

int clv_scenario_read_in_use(
	const char *path, struct clv_fleet **ret, struct clv_snapshot **ret_snapshot)
{
	_cleanup_snapshot_ struct clv_snapshot *snapshot = NULL;
	int r = read_nodes(path, ret, NULL, &snapshot);
	struct clv_error err;

	if (r == 0 && snapshot && clv_snapshot_take_running(snapshot, *ret, &err) < 0)
		r = clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (ret_snapshot)
		*ret_snapshot = CLV_TAKE(snapshot);
	return r;
}

static int lose_rack(struct clv_fleet *fleet, const char *name)
{
	uint16_t rack = *name ? clv_fleet_find_rack(fleet, name) : 0;

	for (uint32_t i = 0; rack && i < fleet->n_nodes; i++) {
		if (fleet->nodes[i].rack == rack)
			clv_fleet_lose_node(fleet, i, NULL, NULL);
	}
	if (rack)
		return 0;
	return clv_cli_fail(
		CLV_EXIT_USAGE, "--lose: no node of the fleet is in rack '%.40s'", name);
}

static int lose_range(struct clv_fleet *fleet, const char *text)
{
	unsigned first, last;
	int n = 0, n_first = 0;

	if (sscanf(text, "%u%n-%u%n", &first, &n_first, &last, &n) < 2)
		last = first = n_first && !text[n_first] ? first : UINT32_MAX;
	else if (text[n])
		last = UINT32_MAX;
	if (last >= fleet->n_nodes || first > last)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--lose: '%.40s' is no node or range of nodes from 0 to %u, and "
			"no "
			"rack=NAME",
			text, fleet->n_nodes - 1);
	for (; first <= last; first++)
		clv_fleet_lose_node(fleet, first, NULL, NULL);
	return 0;
}

int clv_scenario_lose(struct clv_fleet *fleet, const char *list)
{
	char words[256], *rest = words, *word;
	int r = 0;

	if (strlen(list) >= sizeof(words))
		return clv_cli_fail(CLV_EXIT_USAGE, "--lose: the list is too long");
	memcpy(words, list, strlen(list) + 1);
	while (r == 0 && (word = strsep(&rest, ",")))
		r = strncmp(word, "rack=", 5) == 0 ? lose_rack(fleet, word + 5)
						   : lose_range(fleet, word);
	return r;
}

/* Adds nodes as the first one of the model. */
static int add_nodes(struct clv_fleet *fleet, struct clv_node_notes *notes,
	const char *model, unsigned n)
{
	int wanted = clv_fleet_find_model(fleet, model);
	struct clv_error err;
	uint32_t like = 0;
	int r = 0;

	while (like < fleet->n_nodes && fleet->nodes[like].model != wanted)
		like++;
	if (wanted < 0 || like == fleet->n_nodes)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--add: no node has the model '%.40s'", model);
	for (; r == 0 && n > 0; n--) {
		struct clv_fleet_node_spec spec = clv_capacity_spec_of(fleet, like);

		r = clv_fleet_add_node(fleet, &spec, &err);
		if (r == 0)
			r = clv_node_notes_add(notes, notes->items[like].price, &err);
	}
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "--add: %s", err.msg) : 0;
}

int clv_scenario_add(
	struct clv_fleet *fleet, struct clv_node_notes *notes, const char *list)
{
	char words[256], *rest = words, *word;
	int r = 0;

	if (strlen(list) >= sizeof(words))
		return clv_cli_fail(CLV_EXIT_USAGE, "--add: the list is too long");
	memcpy(words, list, strlen(list) + 1);
	while (r == 0 && (word = strsep(&rest, ","))) {
		char *count = strrchr(word, '=');
		unsigned n = 0;
		int end = 0;

		if (!count || sscanf(count, "=%6u%n", &n, &end) < 1 || count[end] ||
			n == 0)
			return clv_cli_fail(CLV_EXIT_USAGE,
				"--add: '%.40s' is no MODEL=COUNT, as L40S=10", word);
		*count = '\0';
		r = add_nodes(fleet, notes, word, n);
	}
	return r;
}

static int set_speed(struct clv_fleet *fleet, char *word)
{
	char *factor = strrchr(word, '='), *end = NULL;
	double speed = factor ? strtod(factor + 1, &end) : 0;
	int model;

	if (!factor || end == factor + 1 || *end || !(speed >= SPEED_MIN) ||
		speed > SPEED_MAX)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--speeds: '%.40s' is no MODEL=FACTOR from 0.001 to 1000, as "
			"T4=0.3",
			word);
	*factor = '\0';
	model = clv_fleet_find_model(fleet, word);
	if (model < 0)
		return clv_cli_fail(
			CLV_EXIT_USAGE, "--speeds: no node has the model '%.40s'", word);
	fleet->speeds[model] = (uint32_t)lround(speed * CLV_FLEET_SPEED);
	return 0;
}

int clv_scenario_speeds(struct clv_fleet *fleet, const char *list)
{
	char words[1024], *rest = words, *word;
	int r = 0;

	if (strlen(list) >= sizeof(words))
		return clv_cli_fail(CLV_EXIT_USAGE, "--speeds: the list is too long");
	memcpy(words, list, strlen(list) + 1);
	while (r == 0 && (word = strsep(&rest, ",")))
		r = set_speed(fleet, word);
	return r;
}

void clv_scenario_time_text(double seconds, char ret[16])
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
	unsigned i = 0;

	while (i < CLV_ARRAY_SIZE(units) - 1 && seconds < units[i].seconds)
		i++;
	snprintf(ret, 16, "%.*f%s", i < CLV_ARRAY_SIZE(units) - 1,
		seconds / units[i].seconds, units[i].unit);
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
