/* SPDX-License-Identifier: Apache-2.0 */
/* Gets a lease, starts the program in it, supervises it until the last process of its
 * tree has ended, and releases the lease. */
#include "cli/launch/launch.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/frame/cli.h"
#include "cli/frame/signals.h"
#include "cli/launch/guard.h"
#include "cli/launch/lease-end.h"
#include "cli/launch/loader.h"
#include "cli/launch/namespace.h"
#include "cli/launch/preloads.h"
#include "cli/launch/program.h"
#include "cli/launch/queue.h"
#include "cli/launch/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_EVERY_NS CLV_NS_PER_S

struct run {
	const struct clv_launch_settings *settings;
	const struct clv_client_lease_request *request;
	const struct clv_launch_callbacks *watch; /* NULL: none */
	char **argv;
	char program_path[CLV_PATH_MAX];
	char gate_path[CLV_PATH_MAX];
	struct clv_namespace ns;
	struct clv_icd_loader loader; /* of the program; all 0: none was found */
	json_t *lease;                /* NULL: the program runs without a lease */
	char *socket_path;            /* of the agent */
	struct clv_guard guard;
	struct clv_lease_end end;
	uint64_t checked_ns; /* time of the last check of both */
	sigset_t old_mask;
	int signal_fd;
};

/* Reads signals from a descriptor from here on, so that Ctrl-C still releases the lease.
 */
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
		return CLV_EXIT_SIGNAL + clv_signals_read(run->signal_fd);
	return clv_cli_fail_client(err);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Makes this process a holder of the lease, so that its children may attach. */
static int join_lease(struct run *run, struct clv_client *client)
{
	struct clv_client_error err;

	if (clv_client_lease_join(
		    client, run->settings->lease, getpid(), &run->lease, &err) < 0)
		return fail_lease(run, &err);
	if (strcmp(clv_json_text(run->lease, "state"), "queued") == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the lease %s is still queued: see cleave ps, or try again "
			"later",
			run->settings->lease);
	return 0;
}

static int create_lease(struct run *run, struct clv_client *client)
{
	struct clv_client_lease_request request = *run->request;
	struct clv_client_error err;
	char command[NAME_MAX + 1];

	snprintf(command, sizeof(command), "%s", base_name(run->argv[0]));
	clv_text_make_printable(command); /* else it is no text of JSON */
	request.command = command;
	if (clv_client_lease_create(client, &request, &run->lease, &err) < 0) {
		if (run->watch && run->watch->refused)
			run->watch->refused(run->watch->userdata, client, &err);
		return fail_lease(run, &err);
	}

	return clv_queue_wait(
		client, &run->settings->request.wait, run->signal_fd, &run->lease);
}

static bool allows_open(const struct run *run)
{
	const char *said = run->settings->if_no_agent;

	return said && strcmp(said, "open") == 0;
}

static int get_lease(struct run *run)
{
	struct clv_client_options options =
		clv_cli_options(&run->settings->request.common, true);
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_error err;

	options.interrupt_fd = run->signal_fd;
	if (clv_client_new(&options, &client, &err) < 0) {
		if (strcmp(err.code, "unreachable") == 0 && allows_open(run)) {
			clv_cli_fail(0, "%s; running without a share, as asked", err.msg);
			return 0;
		}
		return fail_lease(run, &err);
	}
	run->socket_path = strdup(clv_client_get_socket(client));
	return run->settings->lease ? join_lease(run, client) : create_lease(run, client);
}

static void release_lease(const struct run *run)
{
	struct clv_client_options options = {.socket_path = run->socket_path};
	const char *socket = clv_json_text(run->lease, "socket");
	_cleanup_client_ struct clv_client *client = NULL;

	if (!run->lease || !run->socket_path || run->settings->lease)
		return;
	/* Best effort: the agent ends the lease of a dead holder in any case.  One
	 * without its socket has ended. */
	if (socket[0] && access(socket, F_OK) < 0 && errno == ENOENT)
		return;
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
		    run->loader.own_folder, &run->ns, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (allows_open(run) && clv_namespace_allow_open(&run->ns, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (!run->settings->allow_ungated &&
		clv_namespace_add_shims(&run->ns,
			clv_preload_of(json_object_get(run->lease, "devices")), &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static void tick(void *userdata, pid_t main_pid)
{
	struct run *run = userdata;
	uint64_t now_ns = clv_clock_ns();

	if (run->watch)
		run->watch->tick(run->watch->userdata, main_pid);
	if (now_ns - run->checked_ns < CHECK_EVERY_NS)
		return;
	run->checked_ns = now_ns;
	clv_guard_check(&run->guard);
	clv_lease_end_check(&run->end, run->guard.outsider);
}

static int supervise(struct run *run, pid_t child)
{
	const struct clv_launch_callbacks *watch = run->watch;
	struct clv_supervise_watch ticks = {
		.every_ns = watch ? watch->every_ns : CHECK_EVERY_NS,
		.tick = tick,
		.userdata = run,
		.outsider = &run->guard.outsider,
	};
	int r;

	if (!run->lease)
		return clv_supervise(child);
	clv_guard_begin(&run->guard, &run->settings->request.common, run->socket_path);
	if (watch)
		watch->begin(watch->userdata, run->lease);
	run->end = (struct clv_lease_end){
		.lease = run->lease, .agent_socket = run->socket_path};
	r = clv_supervise_watched(child, &ticks);
	clv_guard_end(&run->guard);
	return r;
}

/* Whether the lease has a whole partition or device.  Then the hardware, or the agent's
 * admission of other leases, enforces it, and no gate is needed. */
static bool is_whole(const struct run *run)
{
	const struct clv_lease_settings *wanted = &run->settings->request;

	if (wanted->isolation && strcmp(wanted->isolation, "hardware") == 0)
		return true;
	return clv_json_number(run->lease, "share") >= 1 && !wanted->memory_bytes &&
	       !wanted->cap.ppm && !wanted->sm_ppm && !wanted->share.most_ppm &&
	       !wanted->in;
}

/* Why no gate would intercept a program whose OpenCL loader takes no layers, as the end
 * of a message; NULL: the gate intercepts it in place of the drivers, or in their tables.
 */
static const char *find_gap(const struct run *run, const struct clv_icd_loader *loader)
{
	bool is_alone = !clv_preload_of(json_object_get(run->lease, "devices"));

	if (run->settings->no_namespace)
		return is_alone ? ", so no gate would enforce the share: "
				  "install " CLV_LOADER_REMEDY
				  ", or leave out --no-namespace"
				: NULL;
	if (!loader->has_folder && !loader->own_folder[0] && is_alone)
		return " and does not look for drivers in /etc/OpenCL/vendors, so no "
		       "gate "
		       "would enforce the share: install " CLV_LOADER_REMEDY;
	return NULL;
}

/* A folder that is not there cannot be covered by that of the gate. */
static bool find_loader(struct run *run, char ret_path[CLV_PATH_MAX])
{
	struct stat st;

	if (!clv_loader_find(run->program_path, ret_path, &run->loader))
		return false;
	if (stat(run->loader.own_folder, &st) < 0 || !S_ISDIR(st.st_mode))
		run->loader.own_folder[0] = '\0';
	return true;
}

/* Refuses a program whose OpenCL loader would bypass the gate.  0 or an exit code. */
static int check_loader(struct run *run)
{
	char path[CLV_PATH_MAX], what[64];
	const char *gap;

	if (!run->lease || !find_loader(run, path) || run->settings->allow_ungated ||
		is_whole(run) || run->loader.layers)
		return 0;
	gap = find_gap(run, &run->loader);
	if (!gap)
		return 0;
	clv_icd_loader_describe(&run->loader, what, sizeof(what));
	return clv_cli_fail(CLV_EXIT_NOT_PERMITTED,
		"the OpenCL loader of '%.100s', %.150s (%s), takes no layers%s",
		run->program_path, path, what, gap);
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
		.sm = json_object_get(run->lease, "sm"),
		.ns = run->lease && !run->settings->no_namespace ? &run->ns : NULL,
		.must_preload = !is_whole(run),
		.allow_ungated = run->settings->allow_ungated,
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
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot start a process (%m): end "
						     "other ones, or raise the limit");
	}
	r = clv_program_wait_started(status_fds[0]);
	close(status_fds[0]);
	if (r) {
		clv_supervise(child);
		return r;
	}
	return supervise(run, child);
}

int clv_launch(const struct clv_launch_settings *settings, char **argv,
	const struct clv_client_lease_request *request,
	const struct clv_launch_callbacks *watch)
{
	struct run run = {.settings = settings,
		.request = request,
		.watch = watch,
		.argv = argv,
		.signal_fd = -1};
	struct clv_error err;
	int r = clv_program_find(argv[0], run.program_path, sizeof(run.program_path));

	if (!r && clv_program_find_gate(run.gate_path, sizeof(run.gate_path), &err) < 0)
		r = clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (!r)
		r = watch_signals(&run);
	if (!r)
		r = get_lease(&run);
	if (!r)
		r = check_loader(&run);
	if (!r)
		r = prepare_namespace(&run);
	if (!r)
		r = run_program(&run);

	/* Other programs may use the files in a lease that stays; they end with the
	 * lease. */
	if (run.ns.folder[0] && !settings->lease)
		clv_namespace_remove(&run.ns);
	release_lease(&run);
	clv_json_free(run.lease);
	free(run.socket_path);
	if (run.signal_fd >= 0)
		close(run.signal_fd);
	return r;
}
