/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-services: the supervisor of a project of services. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"
#include "bridge/services/main/publish.h"
#include "bridge/services/supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define LOCK_TRIES 20u
#define LOCK_PAUSE_US 100000
#define UP_TRIES 100u

enum { EXIT_USAGE = 64, EXIT_BUSY = 75, EXIT_BAD_FILE = 78, EXIT_FAILED = 125 };

static const char usage_text[] =
	"Usage: cleave-services [OPTION...] PROJECT\n"
	"Keeps the services of a project running that cleave up has kept.\n\n"
	"  --socket=PATH  the agent's socket\n"
	"  --fresh        start services that could be asleep\n"
	"  --down         end all services, also without their file\n"
	"  --wait         wait for the end of another supervisor of the project\n"
	"  --help, --version\n";

static const struct option long_options[] = {
	{"socket", required_argument, NULL, 's'},
	{"fresh", no_argument, NULL, 'f'},
	{"down", no_argument, NULL, 'd'},
	{"wait", no_argument, NULL, 'w'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

struct arguments {
	const char *project, *socket;
	bool is_fresh, is_down, waits;
};

static int fail_usage(const char *what)
{
	fprintf(stderr, "cleave-services: %s: see --help\n", what);
	return EXIT_USAGE;
}

/* Returns 0, an exit code, or -1 to exit with 0. */
static int parse(int argc, char **argv, struct arguments *ret)
{
	for (int option;
		(option = getopt_long(argc, argv, "", long_options, NULL)) >= 0;) {
		if (option == 's')
			ret->socket = optarg;
		else if (option == 'f')
			ret->is_fresh = true;
		else if (option == 'd')
			ret->is_down = true;
		else if (option == 'w')
			ret->waits = true;
		else if (option == 'h' || option == 'v')
			return fputs(option == 'h' ? usage_text
						   : "cleave-services " CLV_VERSION "\n",
				       stdout) < 0
				       ? EXIT_FAILED
				       : -1;
		else
			return EXIT_USAGE;
	}
	if (argc - optind != 1)
		return fail_usage("name one project");
	ret->project = argv[optind];
	return 0;
}

/* One supervisor for each project.  The lock is the process's, so that its death ends it;
 * programs that it starts do not have it. */
static int take_lock(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	unsigned int n_tries = 0;
	int fd;

	clv_project_path(project, "lock", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* A supervisor that was killed has it for another moment. */
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK &&
		n_tries++ < LOCK_TRIES)
		usleep(LOCK_PAUSE_US);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (fd >= 0 && errno == EWOULDBLOCK) {
		fprintf(stderr, "cleave-services: a supervisor of %s runs already\n",
			project->name);
		return EXIT_BUSY;
	}
	fprintf(stderr, "cleave-services: cannot lock %s: %m\n", path);
	return fd < 0 && errno == ENOENT ? EXIT_BAD_FILE : EXIT_FAILED;
}

static bool is_lock_of(const struct clv_project *project, int fd)
{
	char path[CLV_PATH_MAX];
	struct stat of_path, of_fd;

	clv_project_path(project, "lock", path);
	return stat(path, &of_path) == 0 && fstat(fd, &of_fd) == 0 &&
	       of_path.st_ino == of_fd.st_ino && of_path.st_dev == of_fd.st_dev;
}

/* The same after the end of another supervisor, for a unit that is started already.
 * Returns -1 if that has ended the project. */
static int wait_for_lock(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];

	sd_notify(0, "READY=1");
	clv_project_path(project, "lock", path);
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return errno == ENOENT ? -1 : take_lock(project);
		while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
			continue;
		if (is_lock_of(project, fd))
			return 0;
		close(fd);
	}
}

/* CLEAVE_SERVICES_MINUTE: what the file calls a minute, for tests. */
static uint64_t read_minute(void)
{
	const char *text = getenv("CLEAVE_SERVICES_MINUTE");
	uint64_t ns = 60 * CLV_NS_PER_S;

	if (text && clv_units_parse_duration(text, &ns, NULL) < 0)
		clv_log_warning(0, "CLEAVE_SERVICES_MINUTE is no duration: %.40s", text);
	return ns;
}

/* Users' paths may lack the folder of HAProxy. */
static void complete_path(void)
{
	const char *path = getenv("PATH");
	char made[4096];

	snprintf(made, sizeof(made), "%s%s/usr/sbin:/usr/bin:/bin", path ? path : "",
		path ? ":" : "");
	setenv("PATH", made, 1);
}

static int run(struct clv_supervisor *supervisor, const struct arguments *arguments)
{
	struct clv_publisher *publisher;
	struct clv_error err;
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = sd_event_new(&supervisor->event);
	if (r >= 0)
		r = sd_event_add_signal(supervisor->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(supervisor->event, NULL, SIGINT, NULL, NULL);
	if (r < 0)
		clv_error_errno(&err, -r, "cannot start");
	else
		r = clv_leases_new(supervisor->project.name, arguments->socket,
			&supervisor->leases, &err);
	if (r >= 0)
		r = clv_supervisor_start(supervisor, arguments->is_fresh, &err);
	if (r >= 0)
		r = clv_supervisor_listen(supervisor, &err);
	if (r < 0) {
		clv_log_error(0, "%s", err.msg);
		return r == -EINVAL || r == -ENOENT ? EXIT_BAD_FILE : EXIT_FAILED;
	}
	/* Programs that it starts do not have the variable. */
	sd_notify(1, "READY=1");
	publisher = clv_publisher_new(supervisor, arguments->socket);
	sd_event_loop(supervisor->event);
	clv_publisher_free(publisher);
	return 0;
}

static bool none(void *userdata, const char *service)
{
	return false;
}

/* One that keeps its file meanwhile is let finish; its request has no answer any more.
 * The lock goes with the folder. */
static void wait_for_up(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	int fd;

	clv_project_path(project, CLV_PROJECT_UP_LOCK, path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* One that was stopped does not end: the project does all the same. */
	for (unsigned int n = 0; fd >= 0 && n < UP_TRIES; n++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return;
		usleep(LOCK_PAUSE_US);
	}
}

/* After `cleave down` nothing is left of the project.  What could not be removed is tried
 * again by the next one. */
static int end_project(struct clv_supervisor *supervisor)
{
	struct clv_error err;

	for (size_t i = 0; i < supervisor->n_units; i++)
		clv_unit_end_proxy(supervisor->units[i]);
	clv_proxy_sweep(&supervisor->project, none, NULL);
	clv_supervisor_sweep(supervisor);
	if (supervisor->n_left > 0) {
		clv_log_error(0,
			"%zu containers, networks or leases of %s stay: cleave down "
			"tries again",
			supervisor->n_left, supervisor->project.name);
		return EXIT_FAILED;
	}
	clv_leases_forget(supervisor->leases);
	close(supervisor->control_fd);
	supervisor->control_fd = -1;
	wait_for_up(&supervisor->project);
	if (clv_project_remove(&supervisor->project, &err) >= 0)
		return 0;
	clv_log_error(0, "%s", err.msg);
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	struct clv_supervisor supervisor = {.control_fd = -1};
	struct arguments arguments = {0};
	struct clv_error err;
	int r = parse(argc, argv, &arguments);

	if (r)
		return r > 0 ? r : 0;
	clv_log_set_level(LOG_INFO);
	clv_log_set_level_from_env();
	if (clv_project_find(arguments.project, &supervisor.project, &err) < 0)
		return fail_usage(err.msg);
	r = arguments.waits ? wait_for_lock(&supervisor.project)
			    : take_lock(&supervisor.project);
	if (r)
		return r > 0 ? r : 0;
	complete_path();
	supervisor.minute_ns = read_minute();
	supervisor.is_ending = arguments.is_down;
	r = run(&supervisor, &arguments);
	if (r == 0 && supervisor.is_ending)
		r = end_project(&supervisor);
	clv_supervisor_clear(&supervisor);
	sd_event_unref(supervisor.event);
	return r < 0 ? EXIT_FAILED : r;
}
