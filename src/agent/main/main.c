/* SPDX-License-Identifier: Apache-2.0 */
/* cleaved, the agent: one per machine (--system) or one per user. */
#include "agent/api/handler/backup.h"
#include "agent/config/config.h"
#include "agent/config/daemon.h"
#include "agent/config/options.h"
#include "agent/driver/probe.h"
#include "agent/driver/worker.h"
#include "agent/main/loop.h"
#include "agent/main/service.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <sysexits.h>

#define EXIT_CODE_FAILED 125

struct readiness {
	struct clv_agent *agent;
	int parent_fd;
	int stderr_fd; /* the old stderr; -1: not redirected */
};

static void report_ready(void *userdata)
{
	struct readiness *readiness = userdata;

	clv_daemon_report_ready(&readiness->agent->config, readiness->parent_fd);
	clv_service_ready(readiness->agent);
	/* The starter may read this pipe to its end. */
	clv_close_fd(&readiness->stderr_fd);
	readiness->stderr_fd = -1;
}

/* Restores a backup, with the lock, so that no agent uses the state meanwhile. */
static int restore(struct clv_agent *agent)
{
	struct clv_error err = {0};
	_cleanup_close_ int lock_fd = -1;
	int r = clv_daemon_find_folders(&agent->config, &err);

	if (r >= 0)
		r = lock_fd = clv_daemon_lock(&agent->config, &err);
	if (r == -EALREADY)
		clv_error_set(&err, -EALREADY,
			"the agent is running: stop it first, then restore, then start "
			"it");
	if (r >= 0)
		r = clv_backup_restore(&agent->config, agent->config.restore, &err);
	if (r < 0)
		clv_log_error(r, "%s", err.msg);
	if (r == -EALREADY)
		return EX_TEMPFAIL;
	return r == -EBADMSG ? EX_CONFIG : r < 0 ? EXIT_CODE_FAILED : 0;
}

static int run(struct clv_agent *agent)
{
	struct readiness readiness = {.agent = agent, .parent_fd = -1, .stderr_fd = -1};
	struct clv_error err = {0};
	_cleanup_close_ int lock_fd = -1;
	int r;

	if (agent->config.is_system && geteuid() != 0) {
		clv_log_error(0, "--system needs root: leave it out for an agent of your "
				 "own");
		return EX_NOPERM;
	}
	if (clv_daemon_raise_files(&err) < 0) {
		clv_log_error(0, "%s", err.msg);
		return EXIT_CODE_FAILED;
	}
	clv_service_prepare(&agent->config);
	clv_daemon_prepare(&agent->config);
	if (agent->config.restore[0] != '\0')
		return restore(agent);
	r = clv_daemon_detach(&agent->config, &err);
	readiness.parent_fd = r < 0 ? -1 : r;
	if (r >= 0 || agent->config.is_foreground)
		r = clv_daemon_find_folders(&agent->config, &err);
	if (r >= 0)
		r = clv_daemon_read_settings(
			&agent->config, NULL, &agent->settings, &err);
	if (r == -EBADMSG || r == -EPERM) {
		clv_log_error(0, "%s", err.msg);
		return r == -EPERM ? EX_NOPERM : EX_CONFIG;
	}
	if (r >= 0)
		r = lock_fd = clv_daemon_lock(&agent->config, &err);
	if (r == -EALREADY) {
		/* The starter wants a running agent, and there is one. */
		clv_log_warning(0, "%s", err.msg);
		if (agent->config.ready_fd >= 0 &&
			write(agent->config.ready_fd, "1", 1) != 1)
			clv_log_debug("readiness: the descriptor has no reader");
		return EX_TEMPFAIL;
	}
	if (r >= 0) {
		readiness.stderr_fd = clv_daemon_redirect(&agent->config);
		r = clv_loop_run(agent, report_ready, &readiness, &err);
	}
	if (r < 0 && readiness.stderr_fd >= 0)
		dup2(readiness.stderr_fd, STDERR_FILENO);
	if (r < 0)
		clv_log_error(r, "%s", err.msg);
	return r < 0 ? EXIT_CODE_FAILED : 0;
}

static void print_mistake(void *userdata, const struct clv_error *mistake)
{
	fprintf(stderr, "%s\n", mistake->msg);
}

/* --check */
static int check(struct clv_agent *agent)
{
	struct clv_yaml_mistakes mistakes = {.on_mistake = print_mistake};
	struct clv_error err = {0};
	int r;

	agent->config.checks_users = true;
	r = clv_daemon_read_settings(&agent->config, &mistakes, &agent->settings, &err);

	if (r < 0 && mistakes.n == 0)
		clv_log_error(0, "%s", err.msg);
	if (r >= 0 && mistakes.n == 0)
		printf("%s: no mistakes\n", agent->settings->path);
	return r == -EBADMSG ? EX_CONFIG : r < 0 ? EXIT_CODE_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct clv_agent agent = {.config.ready_fd = -1};
	struct clv_error err = {0};
	enum clv_options_mode mode;
	int code;

	clv_log_set_level_from_env();
	if (clv_options_parse(argc, argv, &agent.config, &mode, &err) < 0) {
		clv_log_error(0, "%s", err.msg);
		return EX_USAGE;
	}
	switch (mode) {
	case CLV_OPTIONS_HELP:
		clv_options_print_help();
		return 0;
	case CLV_OPTIONS_VERSION:
		printf("cleaved %s\n", CLV_VERSION);
		return 0;
	case CLV_OPTIONS_CHECK:
		code = check(&agent);
		clv_config_free(agent.settings);
		return code;
	case CLV_OPTIONS_PROBE:
		return clv_probe_main();
	case CLV_OPTIONS_DRIVERS:
		return clv_worker_main();
	case CLV_OPTIONS_RUN:
		break;
	}
	code = run(&agent);
	clv_config_free(agent.settings);
	return code;
}
