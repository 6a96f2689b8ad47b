/* SPDX-License-Identifier: Apache-2.0 */
/* cleave profile: runs a program in a lease on a whole device, samples the lease ten
 * times a second, and proposes a share for the program (core/share/advise.h). */
#include "cli/frame/verbs.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/launch/launch.h"
#include "cli/launch/measured.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERY_NS (CLV_MEASURED_WINDOW_MS * CLV_NS_PER_MS)
#define END_AFTER_NS (5 * CLV_NS_PER_S)

struct profile_settings {
	struct clv_launch_settings launch;
	uint64_t for_ns;
	const char *report;
	bool shared;
};

struct profile {
	const struct profile_settings *settings;
	struct clv_client *client;
	json_t *lease;
	struct clv_measurement measured;
	char page_path[64];
	uint64_t began_ns, end_asked_ns;
	bool is_killed;
};

/* Lists the leases that hold the device, oldest first. */
static void print_holders(
	void *userdata, struct clv_client *client, const struct clv_client_error *err)
{
	const struct profile *profile = userdata;
	_cleanup_json_ json_t *list = NULL;
	const json_t *lease;
	size_t i;

	if (strcmp(err->code, "does_not_fit") != 0 ||
		clv_client_leases(client, &list, NULL) < 0)
		return;
	json_array_foreach (json_object_get(list, "items"), i, lease) {
		const char *device = profile->settings->launch.request.device;

		if (device && strcmp(device, clv_json_text(lease, "device")) != 0)
			continue;
		clv_output_line(stderr, "cleave: %s of %s has %.0f%% of %s",
			clv_json_text(lease, "name"), clv_json_text(lease, "tenant"),
			100 * clv_json_number(lease, "share"),
			clv_json_text(lease, "device"));
	}
	clv_output_line(stderr,
		"cleave: a profile needs a whole device: wait for it with --wait, or "
		"run beside these leases with --shared, which disturbs the figures");
}

static void begin(void *userdata, const json_t *lease)
{
	struct profile *profile = userdata;
	struct clv_client_options options =
		clv_cli_options(&profile->settings->launch.request.common, false);

	profile->lease = json_incref((json_t *)lease);
	profile->began_ns = clv_clock_ns();
	if (clv_client_new(&options, &profile->client, NULL) < 0)
		clv_output_line(stderr,
			"cleave: the agent cannot be reached: nothing is measured");
}

/* Ends the program after --for: SIGTERM, and SIGKILL if it still runs 5 s later. */
static void end_after_limit(struct profile *profile, pid_t main_pid)
{
	uint64_t now_ns = clv_clock_ns();
	uint64_t for_ns = profile->settings->for_ns;

	if (for_ns == 0 || now_ns - profile->began_ns < for_ns)
		return;
	if (profile->end_asked_ns == 0) {
		profile->end_asked_ns = now_ns;
		kill(main_pid, SIGTERM);
	} else if (now_ns - profile->end_asked_ns > END_AFTER_NS && !profile->is_killed) {
		profile->is_killed = true;
		kill(main_pid, SIGKILL);
	}
}

static void tick(void *userdata, pid_t main_pid)
{
	struct profile *profile = userdata;
	_cleanup_json_ json_t *lease = NULL;

	if (profile->client &&
		clv_client_lease(profile->client, clv_json_text(profile->lease, "id"),
			&lease, NULL) == 0)
		clv_measured_add(&profile->measured, clv_clock_ns(), lease);
	end_after_limit(profile, main_pid);
}

/* Creates the file in which gates count commands; the program finds its path in
 * CLEAVE_PROFILE. */
static int open_page(struct profile *profile)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	struct clv_lengths first = {
		.magic = CLV_LENGTHS_MAGIC, .version = CLV_LENGTHS_VERSION};
	int fd;

	snprintf(profile->page_path, sizeof(profile->page_path),
		"%s/cleave-profile-XXXXXX",
		folder && strlen(folder) < 32 ? folder : "/tmp");
	fd = mkostemp(profile->page_path, O_CLOEXEC);
	if (fd < 0 && folder) {
		strcpy(profile->page_path, "/tmp/cleave-profile-XXXXXX");
		fd = mkostemp(profile->page_path, O_CLOEXEC);
	}
	if (fd < 0 || write(fd, &first, sizeof(first)) != sizeof(first) ||
		setenv("CLEAVE_PROFILE", profile->page_path, 1) < 0) {
		profile->page_path[fd < 0 ? 0 : strlen(profile->page_path)] = '\0';
		return clv_cli_fail(CLV_EXIT_FAILED,
			"cannot create the file in which gates count commands: %m");
	}
	close(fd);
	return 0;
}

static void read_page(struct profile *profile)
{
	int fd = open(profile->page_path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 &&
		read(fd, &profile->measured.lengths, sizeof(profile->measured.lengths)) !=
			sizeof(profile->measured.lengths))
		profile->measured.lengths = (struct clv_lengths){0};
	if (fd >= 0)
		close(fd);
}

/* The profiles of the device, or NULL if the agent does not answer. */
static json_t *get_profiles(const struct profile *profile)
{
	json_t *list = NULL;

	if (profile->client)
		clv_client_profiles(profile->client,
			clv_json_text(profile->lease, "device"), &list, NULL);
	return list;
}

static int write_report(const struct profile_settings *settings, const json_t *report)
{
	if (settings->report &&
		json_dump_file(report, settings->report, JSON_INDENT(2)) < 0)
		return clv_cli_fail(
			CLV_EXIT_FAILED, "cannot write %s: %m", settings->report);
	if (settings->report)
		return 0;
	if (clv_output_is_data(settings->launch.request.common.output)) {
		json_dumpf(report, stderr, JSON_INDENT(2));
		fputc('\n', stderr);
	} else {
		clv_measured_print(report, stderr);
	}
	return 0;
}

/* Writes the report.  Returns the program's exit code, 0 if --for ended the program, or
 * the exit code of a failed write. */
static int report(struct profile *profile, char **argv, int exit_code)
{
	_cleanup_json_ json_t *profiles = get_profiles(profile);
	_cleanup_json_ json_t *report = NULL;
	int r;

	read_page(profile);
	report = clv_measured_report(&profile->measured, profile->lease, profiles, argv);
	if (!report) {
		clv_output_line(stderr, "cleave: the program ended too early to be "
					"measured: it must run for half a second "
					"or more");
		return exit_code;
	}
	json_object_set_new(report, "exit_code", json_integer(exit_code));
	r = write_report(profile->settings, report);
	if (r)
		return r;
	return profile->end_asked_ns ? CLV_EXIT_OK : exit_code;
}

static int run_profile(const void *userdata, int argc, char **argv)
{
	const struct profile_settings *settings = userdata;
	struct profile profile = {.settings = settings};
	struct clv_client_lease_request request = {
		.device = settings->launch.request.device,
		.share_ppm = CLV_PPM,
		.wait = settings->launch.request.wait.is_given,
		.overcommit = settings->shared,
	};
	struct clv_launch_callbacks watch = {
		EVERY_NS, print_holders, begin, tick, &profile};
	int r = open_page(&profile);

	if (!r)
		r = clv_launch(&settings->launch, argv, &request, &watch);
	if (profile.lease)
		r = report(&profile, argv, r);
	if (profile.page_path[0])
		unlink(profile.page_path);
	clv_measured_done(&profile.measured);
	json_decref(profile.lease);
	clv_client_free(profile.client);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_LEASE_DEVICE(struct clv_lease_settings),
	{
		.name = "for",
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct profile_settings, for_ns),
		.argument = "TIME",
		.help = "End the program after this time, as 30s, and exit with 0",
	},
	{
		.name = "shared",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct profile_settings, shared),
		.help = "Run even beside other leases on the device; if they disturb the "
			"figures, the report says so",
	},
	CLV_OPT_LEASE_WAIT(struct clv_lease_settings,
		"If other leases hold the device, queue for it, for at most TIMEOUT "
		"(as 30s or 5m)"),
	{
		.name = "report",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct profile_settings, report),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Write the report to this file, as JSON, instead of to standard "
			"error",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_profile = {
	.name = "profile",
	.arguments = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program alone, measure it, and propose a share for it",
	.about = "The program has a whole device. At its end, standard error shows its "
		 "memory, the part of the time in which it computed, its commands and "
		 "their lengths, and the share, memory and class that it needs. "
		 "Exits with the program's code, or 128+N when signal N ended it.",
	.settings_bytes = sizeof(struct profile_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_PROGRAM,
	.is_wrapper = true,
	.run = run_profile,
};
