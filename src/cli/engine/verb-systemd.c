/* SPDX-License-Identifier: Apache-2.0 */
/* cleave systemd: writes a drop-in by which a service's programs run in a lease. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/units.h"
#include "bridge/systemd/dropin.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/launch/lease-request.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define UNIT_MAX_BYTES (1u << 20)
#define DROP_IN "50-cleave.conf"

struct systemd_settings {
	struct clv_lease_settings request;
	const char *to;
};

/* systemd.unit(5), "System Unit Search Path": the first wins. */
static const char *const folders[] = {
	"/etc/systemd/system",
	"/run/systemd/system",
	"/usr/local/lib/systemd/system",
	"/usr/lib/systemd/system",
	"/lib/systemd/system",
};

static int read_into(const char *path, struct clv_unit *unit)
{
	_cleanup_free_ char *text = NULL;
	struct clv_error err;
	int r = clv_file_read_all(path, UNIT_MAX_BYTES, &text, NULL, &err);

	if (r >= 0)
		r = clv_unit_read(unit, text, &err);
	return r < 0 ? clv_cli_fail(CLV_EXIT_BAD_FILE, "%s: %s", path, err.msg) : 0;
}

static bool find_unit(const char *name, char ret[CLV_PATH_MAX])
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(folders); i++) {
		snprintf(ret, CLV_PATH_MAX, "%s/%s", folders[i], name);
		if (access(ret, R_OK) == 0)
			return true;
	}
	return false;
}

static int is_other_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0 &&
	       strcmp(entry->d_name, DROP_IN) != 0;
}

/* Reads the drop-ins of each folder by their names, from the lowest priority to the
 * highest. A name that is in several folders, which is rare, is read from each. */
static int read_drop_ins(const char *name, struct clv_unit *unit)
{
	int r = 0;

	for (size_t i = CLV_ARRAY_SIZE(folders); i-- > 0 && !r;) {
		char folder[CLV_PATH_MAX / 2], path[CLV_PATH_MAX];
		struct dirent **entries = NULL;
		int n;

		snprintf(folder, sizeof(folder), "%s/%s.d", folders[i], name);
		n = scandir(folder, &entries, is_other_drop_in, alphasort);
		for (int k = 0; k < n; k++) {
			snprintf(path, sizeof(path), "%s/%s", folder, entries[k]->d_name);
			if (!r)
				r = read_into(path, unit);
			free(entries[k]);
		}
		free(entries);
	}
	return r;
}

/* Prints the unit's name as a lease's name, which cannot have the '@' of a template. */
static void print_name(FILE *to, const char *unit)
{
	for (size_t i = 0; i < strcspn(unit, "."); i++)
		fputc(isalnum((unsigned char)unit[i]) || strchr("_-", unit[i]) ? unit[i]
									       : '-',
			to);
}

/* Makes the command line of `cleave run` with the given options. */
static char *make_run(const struct clv_lease_settings *s, const char *name)
{
	char self[CLV_PATH_MAX] = "/usr/bin/cleave", *text = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	if (!to)
		return NULL;
	if (n > 0)
		self[n] = '\0';
	fprintf(to, "%s run --name ", self);
	print_name(to, name);
	if (s->share.ppm)
		fprintf(to, " --share %g", (double)s->share.ppm / CLV_PPM);
	if (s->share.most_ppm)
		fprintf(to, "..%g", (double)s->share.most_ppm / CLV_PPM);
	if (s->memory_bytes)
		fprintf(to, " --memory %llu", (unsigned long long)s->memory_bytes);
	if (s->spill.bytes)
		fprintf(to, " --spill %llu", (unsigned long long)s->spill.bytes);
	if (s->cap.ppm)
		fprintf(to, " --cap %g", (double)s->cap.ppm / CLV_PPM);
	if (s->sm_ppm)
		fprintf(to, " --sm %g", (double)s->sm_ppm / CLV_PPM);
	if (s->class_name)
		fprintf(to, " --class %s", s->class_name);
	if (s->device)
		fprintf(to, " --device %s", s->device);
	if (s->profile)
		fprintf(to, " --profile %s", s->profile);
	if (s->in)
		fprintf(to, " --in %s", s->in);
	if (s->isolation)
		fprintf(to, " --isolation %s", s->isolation);
	if (s->count)
		fprintf(to, " --count %llu", (unsigned long long)s->count);
	fprintf(to, "%s%s --", s->same_device ? " --same-device" : "",
		s->overcommit ? " --overcommit" : "");
	return fclose(to) == 0 ? text : NULL;
}

static int write_drop_in(const char *name, const char *to, const char *text)
{
	char folder[CLV_PATH_MAX / 2], path[CLV_PATH_MAX];
	struct clv_error err;

	if (to && strcmp(to, "-") == 0) {
		fputs(text, stdout);
		return CLV_EXIT_OK;
	}
	snprintf(folder, sizeof(folder), "%s/%s.d", folders[0], name);
	snprintf(path, sizeof(path), "%s/" DROP_IN, folder);
	if ((!to && clv_path_make(folder, 0755, &err) < 0) ||
		clv_file_replace(to ? to : path, text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	clv_output_line(stderr,
		"cleave: wrote %s: run systemctl daemon-reload, and restart %s",
		to ? to : path, name);
	return CLV_EXIT_OK;
}

static int run_systemd(const void *userdata, int argc, char **argv)
{
	const struct systemd_settings *s = userdata;
	const char *slash = strrchr(argv[0], '/');
	char name[256], path[CLV_PATH_MAX];
	_cleanup_free_ char *run = NULL, *text = NULL;
	struct clv_unit unit = {};
	struct clv_error err;
	int r = clv_lease_request_check(&s->request);

	if (r)
		return r;
	snprintf(name, sizeof(name), "%s%s", slash ? slash + 1 : argv[0],
		strchr(slash ? slash : argv[0], '.') ? "" : ".service");
	if (slash)
		snprintf(path, sizeof(path), "%s", argv[0]);
	else if (!find_unit(name, path))
		return clv_cli_fail(CLV_EXIT_NO_INPUT,
			"there is no unit %s: see systemctl list-unit-files, or name its "
			"file",
			name);
	r = read_into(path, &unit);
	if (!r && !slash)
		r = read_drop_ins(name, &unit);
	run = make_run(&s->request, name);
	if (!r && (!run || clv_unit_drop_in(&unit, run, &text, &err) < 0))
		r = clv_cli_fail(
			CLV_EXIT_BAD_FILE, "%s: %s", name, run ? err.msg : "no memory");
	if (!r)
		r = write_drop_in(name, s->to, text);
	clv_unit_free(&unit);
	return r;
}

static const struct clv_opt options[] = {
	CLV_LEASE_OPTIONS,
	{
		.name = "to",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct systemd_settings, to),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Write to this file instead of the service's folder of drop-ins "
			"in /etc/systemd/system; - is standard output",
	},
	CLV_OPT_HELP,
};

const struct clv_verb clv_verb_systemd = {
	.name = "systemd",
	.arguments = "SERVICE|FILE",
	.summary = "run a service's programs in a lease",
	.about = "Writes a drop-in that puts cleave run before the service's program. "
		 "Units are read from systemd's folders; nothing is reloaded or "
		 "restarted.",
	.settings_bytes = sizeof(struct systemd_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_systemd,
};
