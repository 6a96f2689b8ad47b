/* SPDX-License-Identifier: Apache-2.0 */
/* cleave run: gets a lease, starts the program in it, stands in for it until the last
 * process of its tree has ended, and gives the lease back.  What holds the program is the
 * gate; nothing is enforced here. */
#include "cli/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/namespace.h"
#include "cli/program.h"
#include "cli/queue.h"
#include "cli/signals.h"
#include "cli/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
	const struct clv_settings *settings;
	char **argv;
	char program_path[CLV_PATH_MAX];
	char gate_path[CLV_PATH_MAX];
	struct clv_namespace ns;
	json_t *lease;     /* NULL: runs outside any */
	char *socket_path; /* of the agent */
	sigset_t old_mask;
	int signal_fd;
};

/* From here on Ctrl-C is read from a descriptor, so that it leaves no lease behind. */
static int watch_signals(struct run *run)
{
	run->signal_fd = clv_signals_watch(&run->old_mask);
	if (run->signal_fd < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot watch signals: %s",
			strerror(-run->signal_fd));
	return 0;
}

static int fail_lease(const struct run *run, const struct clv_client_error *err)
{
	if (err->error == -EINTR)
		return CLV_EXIT_SIGNAL + clv_signals_take(run->signal_fd);
	return clv_cli_fail_client(err);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int create_lease(struct run *run, struct clv_client *client)
{
	const struct clv_settings *s = run->settings;
	struct clv_client_lease_request request = {
		.name = s->name,
		.device = s->device,
		.profile = s->profile,
		.in = s->in,
		.isolation = s->isolation,
		.class_name = s->class_name,
		.command = base_name(run->argv[0]),
		/* A partition without a word of a share is meant as a whole. */
		.share_ppm = (s->profile || s->count) && !s->share.ppm && !s->memory_bytes
				     ? CLV_PPM
				     : s->share.ppm,
		.share_most_ppm = s->share.most_ppm,
		.cap_ppm = s->cap.ppm,
		.memory_bytes = s->memory_bytes,
		.wait = s->wait.is_given,
		.overcommit = s->overcommit,
		.count = (uint32_t)s->count,
		.same_device = s->same_device,
		.time_s = (s->time_ns + CLV_NS_PER_S - 1) / CLV_NS_PER_S,
	};
	struct clv_client_error err;

	if (clv_client_lease_create(client, &request, &run->lease, &err) < 0)
		return fail_lease(run, &err);

	return clv_queue_wait(client, s, run->signal_fd, &run->lease);
}

static int get_lease(struct run *run)
{
	struct clv_client_options options = clv_cli_options(run->settings, true);
	const char *if_no_agent = run->settings->if_no_agent;
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_error err;

	options.interrupt_fd = run->signal_fd;
	if (clv_client_new(&options, &client, &err) < 0) {
		if (strcmp(err.code, "unreachable") == 0 && if_no_agent &&
			strcmp(if_no_agent, "open") == 0) {
			clv_cli_fail(0, "%s; running without a share, as asked", err.msg);
			return 0;
		}
		return fail_lease(run, &err);
	}
	run->socket_path = strdup(clv_client_get_socket(client));
	return create_lease(run, client);
}

static void release_lease(const struct run *run)
{
	struct clv_client_options options = {.socket_path = run->socket_path};
	_cleanup_client_ struct clv_client *client = NULL;

	if (!run->lease || !run->socket_path)
		return;
	/* Best effort: the agent ends the lease of a dead holder in any case. */
	if (clv_client_new(&options, &client, NULL) == 0)
		clv_client_lease_release(
			client, clv_json_text(run->lease, "id"), false, NULL);
}

static int prepare_namespace(struct run *run)
{
	struct clv_error err;

	if (!run->lease || run->settings->no_namespace)
		return 0;
	if (clv_namespace_prepare(clv_json_text(run->lease, "socket"), run->gate_path,
		    &run->ns, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

/* Returns the exit code. */
static int run_program(struct run *run)
{
	struct clv_program program = {
		.path = run->program_path,
		.argv = run->argv,
		.gate_path = run->lease ? run->gate_path : NULL,
		.lease_socket = clv_json_text(run->lease, "socket"),
		.if_no_agent = run->settings->if_no_agent,
		.devices = json_object_get(run->lease, "devices"),
		.ns = run->lease && !run->settings->no_namespace ? &run->ns : NULL,
	};
	int status_fds[2], r;
	sigset_t ignored;
	pid_t child;

	if (clv_supervise_begin(&ignored) < 0 || pipe2(status_fds, O_CLOEXEC) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot prepare the start: %m");
	fflush(NULL);
	child = fork();
	if (child == 0) {
		clv_supervise_restore(&run->old_mask);
		clv_program_become(&program, status_fds[1]);
	}
	close(status_fds[1]);
	if (child < 0) {
		close(status_fds[0]);
		return clv_cli_fail(CLV_EXIT_FAILED,
			"cannot start a process (%m): end some, or raise the limit");
	}
	r = clv_program_wait_started(status_fds[0]);
	close(status_fds[0]);
	if (r) {
		clv_supervise(child);
		return r;
	}
	return clv_supervise(child);
}

/* What the agent would refuse as well, in the words of its own fields. */
static int check_words(const struct clv_settings *s)
{
	bool is_isolated = s->isolation && strcmp(s->isolation, "hardware") == 0;
	bool is_sized = s->share.ppm || s->cap.ppm || s->memory_bytes;

	if (s->same_device && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--same-device is a word about several: add --count=N");
	if (s->count > 1 && (is_sized || s->overcommit))
		return clv_cli_fail(CLV_EXIT_USAGE, "--count gives each device whole: "
						    "leave out --share, --cap, --memory "
						    "and --overcommit, or ask for one");
	if (s->count > 1 && (s->in || is_isolated))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count goes with --device and --profile, not with --in or "
			"--isolation");
	if (s->in && (is_sized || s->class_name || s->device || s->profile))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--in names a standing share, which has its own size, class and "
			"place: leave out --share, --cap, --memory, --class, --device "
			"and --profile");
	if (is_isolated && (!s->memory_bytes || s->share.ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--isolation=hardware takes --memory=SIZE and no --share: the "
			"partition is all the lease's own");
	return 0;
}

static int check_request(const struct clv_settings *s)
{
	int r = check_words(s);

	if (r)
		return r;
	if (!s->share.ppm && !s->memory_bytes && !s->profile && !s->in && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"a share of what size? add --share=FRACTION (as 0.3), "
			"--memory=SIZE (as 512M), or both, or name a --profile");
	if (s->cap.ppm && s->share.ppm &&
		(s->cap.ppm < s->share.ppm || s->cap.ppm < s->share.most_ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--cap is below --share: what is promised could never be had, so "
			"raise the cap or lower the share");
	return 0;
}

static int run_run(const struct clv_settings *settings, int argc, char **argv)
{
	struct run run = {.settings = settings, .argv = argv, .signal_fd = -1};
	struct clv_error err;
	int r = check_request(settings);

	if (!r)
		r = clv_program_find(argv[0], run.program_path, sizeof(run.program_path));
	if (!r && clv_program_find_gate(run.gate_path, sizeof(run.gate_path), &err) < 0)
		r = clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (!r)
		r = watch_signals(&run);
	if (!r)
		r = get_lease(&run);
	if (!r)
		r = prepare_namespace(&run);
	if (!r)
		r = run_program(&run);

	if (run.ns.folder[0])
		clv_namespace_remove(&run.ns);
	release_lease(&run);
	clv_json_free(run.lease);
	free(run.socket_path);
	if (run.signal_fd >= 0)
		close(run.signal_fd);
	return r;
}

static const char *const isolation_choices[] = {"hardware", "gate", NULL};
static const char *const if_no_agent_choices[] = {"open", "closed", NULL};

static const struct clv_opt options[] = {
	CLV_OPT_LEASE_SHARE("The share of the device's compute, as 0.3, 30% or 6/20, or "
			    "a range, as 0.1..0.6, of which the least is promised and "
			    "within which the agent moves it by demand; without it, as "
			    "much as the memory is of the device's"),
	CLV_OPT_LEASE_MEMORY("The memory quota, as 512M or 1.5GiB; without it, the share "
			     "of the device's memory"),
	CLV_OPT_LEASE_CAP(
		"FRACTION", "Never more than this share, even when the device is idle"),
	CLV_OPT_LEASE_CLASS("How fast it is served, never how much it gets: latency, "
			    "normal (the default) or batch"),
	{
		.name = "name",
		.letter = 'n',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(name),
		.argument = "NAME",
		.help = "What to call the lease; without it a name is made from the "
			"program's",
	},
	{
		.name = "device",
		.letter = 'd',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(device),
		.argument = "DEVICE",
		.completes = CLV_COMPLETE_DEVICE,
		.help = "On this device, by name or UUID; see cleave devices",
	},
	{
		.name = "profile",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(profile),
		.argument = "PROFILE",
		.help = "Inside a partition of this shape, as 1g.10gb or cores:2; see "
			"cleave devices",
	},
	{
		.name = "count",
		.type = CLV_OPT_SEVERAL,
		.offset = CLV_OPT_AT(count),
		.argument = "N",
		.help = "So many devices, or partitions with --profile, all alike, each "
			"of "
			"them whole, as near to each other as can be",
	},
	{
		.name = "same-device",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(same_device),
		.help = "With --count: partitions of one device alone",
	},
	{
		.name = "in",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(in),
		.argument = "NAME",
		.help = "In this standing share, which a layout has set aside, as train "
			"or gpu0/train",
	},
	{
		.name = "isolation",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(isolation),
		.argument = "hardware|gate",
		.choices = isolation_choices,
		.help = "With hardware, --memory alone is enough: the smallest partition "
			"that has it is found or made, and goes with the lease; gate "
			"(the "
			"default) is a share",
	},
	{
		.name = "time",
		.letter = 't',
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(time_ns),
		.argument = "TIME",
		.help = "After so long, as 2h, the program is ended and the lease given "
			"back",
	},
	{
		.name = "wait",
		.letter = 'w',
		.type = CLV_OPT_WAIT,
		.offset = CLV_OPT_AT(wait),
		.argument = "TIMEOUT",
		.help = "When it does not fit now, queue for it, at most TIMEOUT long "
			"(as "
			"30s or 5m); the place in the queue is shown, and Ctrl-C leaves "
			"it",
	},
	{
		.name = "overcommit",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(overcommit),
		.help = "Take the share even when more than the whole device is promised "
			"then, if the node allows it",
	},
	{
		.name = "if-no-agent",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(if_no_agent),
		.argument = "open|closed",
		.choices = if_no_agent_choices,
		.help = "Without an agent: open runs the program without a share, closed "
			"(the default) shows it no device",
	},
	{
		.name = "no-namespace",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(no_namespace),
		.help = "Make no mount namespace; programs that drop their environment "
			"are then not held to the share",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_run = {
	.name = "run",
	.arguments = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program inside a share of a device",
	.about = "The share is promised to the program and all processes that it starts, "
		 "and is given back when the last of them has ended. Needs --share, "
		 "--memory or both; with --profile or --count alone a partition or "
		 "device is all the program's. Starts the user's agent when none runs. "
		 "Exits with the program's code, or 128+N when signal N ended it.",
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_PROGRAM,
	.is_wrapper = true,
	.run = run_run,
};
