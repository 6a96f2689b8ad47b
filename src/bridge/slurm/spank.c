/* SPDX-License-Identifier: Apache-2.0 */
/* spank_cleave.so, the Slurm plugin.  In srun, sbatch and salloc it reads the options; in
 * a step's slurmstepd it makes the job's lease or adds the step to it; in each task,
 * before exec, it carries out the recipe; in the epilog it releases the lease. Everything
 * that needs the agent is done by `cleave slurm` (bridge/slurm/helper.h).
 *
 * Errors are reported by the task, which exits with the codes of `cleave run`: a failing
 * hook is ignored if plugstack.conf has the plugin as "optional", and otherwise drains
 * the node or requeues the job. */
#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/slurm/helper.h"
#include "bridge/slurm/inside.h"
#include "bridge/slurm/recipe.h"
#include "bridge/slurm/wanted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Symbols that Slurm looks up by name. */
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>
SPANK_PLUGIN(cleave, 1)
#pragma GCC visibility pop

#define EXIT_FAILED 125
#define EXIT_USAGE 64
#define EXIT_NO_FIT 75
#define LINE_BYTES 1024

/* Settings from plugstack.conf. */
static struct {
	const char *cleave, *socket, *state;
	const char *node; /* NodeName, if a machine runs several slurmd; or NULL */
	const char *full; /* for a batch script without room: fail, requeue or hold */
	const char *unrequested; /* for a job without options: "deny", or a share */
} settings = {CLV_BIN_DIR "/cleave", NULL, CLV_SLURM_STATE, NULL, "fail", "deny"};

static struct clv_slurm_wanted wanted;

/* The step of this slurmstepd. */
static struct {
	struct clv_slurm_recipe recipe; /* lease "": the job has no lease */
	int exit_code;                  /* of the tasks if the step failed, else 0 */
	char why[LINE_BYTES];
} step;

static const char *value_of(const char *argument, const char *name)
{
	size_t n = strlen(name);

	return strncmp(argument, name, n) == 0 && argument[n] == '=' ? argument + n + 1
								     : NULL;
}

/* deny, whole, or share:FRACTION.  A value that is none of them denies. */
static void read_default(const char *value)
{
	struct clv_slurm_wanted share = {};
	struct clv_error err = {0};

	settings.unrequested = "deny";
	if (strcmp(value, "whole") == 0)
		settings.unrequested = "100%";
	else if (strncmp(value, "share:", strlen("share:")) == 0 &&
		 clv_slurm_wanted_set(
			 &share, CLV_SLURM_SHARE, strchr(value, ':') + 1, &err) == 0)
		settings.unrequested = strchr(value, ':') + 1;
	else if (strcmp(value, "deny") != 0)
		slurm_error("cleave: plugstack.conf: default=%.80s: write default=deny, "
			    "default=whole or default=share:FRACTION, as share:0.1; jobs "
			    "without options get no device until then",
			value);
}

static void read_settings(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *value;

		if ((value = value_of(argv[i], "cleave")))
			settings.cleave = value;
		else if ((value = value_of(argv[i], "socket")))
			settings.socket = value;
		else if ((value = value_of(argv[i], "state")))
			settings.state = value;
		else if ((value = value_of(argv[i], "node")))
			settings.node = value;
		else if ((value = value_of(argv[i], "full")))
			settings.full = value;
		else if ((value = value_of(argv[i], "default")))
			read_default(value);
		else
			slurm_error("cleave: plugstack.conf: unknown setting '%.80s': "
				    "use cleave=PROGRAM, socket=PATH, state=FOLDER, "
				    "node=NAME, full=fail, requeue or hold, or "
				    "default=deny, whole or share:FRACTION",
				argv[i]);
	}
}

static int fail_step(int exit_code, const char *why)
{
	step.exit_code = exit_code;
	if (why != step.why)
		snprintf(step.why, sizeof(step.why), "%s", why);
	return 0;
}

/* In srun and sbatch this ends the program, because the error of a hook is ignored if
 * plugstack.conf has the plugin as "optional", and is printed as two lines. */
static int refuse_options(const struct clv_error *err)
{
	if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_ALLOCATOR)
		return fail_step(EXIT_USAGE, err->msg);
	slurm_error("%s", err->msg);
	exit(EXIT_USAGE);
}

static int take_option(int which, const char *text, int is_remote)
{
	struct clv_error err;

	if (clv_slurm_wanted_set(&wanted, (enum clv_slurm_want)which, text, &err) < 0)
		return refuse_options(&err);
	return 0;
}

static void begin_command(
	struct clv_slurm_command *command, const char *what, const char *job)
{
	clv_slurm_command_add(command, settings.cleave);
	clv_slurm_command_add(command, "slurm");
	clv_slurm_command_add(command, what);
	clv_slurm_command_add(command, "--state");
	clv_slurm_command_add(command, settings.state);
	if (settings.socket) {
		clv_slurm_command_add(command, "--socket");
		clv_slurm_command_add(command, settings.socket);
	}
	if (settings.node) {
		clv_slurm_command_add(command, "--node");
		clv_slurm_command_add(command, settings.node);
	}
	if (job) {
		clv_slurm_command_add(command, "--job");
		clv_slurm_command_add(command, job);
	}
}

/* Releases leases of jobs that ended while slurmd was not running their epilogs. */
static int start_sweep(void)
{
	struct clv_slurm_command command = {};

	begin_command(&command, "sweep", NULL);
	if (access(settings.state, F_OK) == 0)
		clv_slurm_command_start(&command);
	return 0;
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	int r = 0;

	read_settings(argc, argv);
	if (spank_context() == S_CTX_SLURMD)
		return start_sweep();
	for (int i = 0; r == 0 && i < _CLV_SLURM_WANT_MAX; i++) {
		const struct clv_slurm_option *from = &clv_slurm_options[i];
		struct spank_option option = {
			.name = (char *)(uintptr_t)from->name,
			.arginfo = (char *)(uintptr_t)from->argument,
			.usage = (char *)(uintptr_t)from->help,
			.has_arg = 1,
			.val = i,
			.cb = take_option,
		};

		if (spank_option_register(sp, &option) != ESPANK_SUCCESS)
			r = -1;
	}
	return r;
}

static bool has_folder(const char *job)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", settings.state, job);
	return access(path, F_OK) == 0;
}

static int run_for_job(
	const char *what, const char *option, const char *job, char line[LINE_BYTES])
{
	struct clv_slurm_command command = {};

	begin_command(&command, what, job);
	if (option)
		clv_slurm_command_add(&command, option);
	return clv_slurm_command_run(&command, line, LINE_BYTES);
}

/* Slurm's RequeueExit would also requeue an interactive srun, whose terminal is gone
 * then. */
static void requeue_job(const char *job)
{
	char line[LINE_BYTES];
	bool is_held = strcmp(settings.full, "hold") == 0;

	if (strcmp(settings.full, "requeue") != 0 && !is_held)
		return;
	if (run_for_job("again", is_held ? "--hold" : NULL, job, line))
		slurm_error("cleave: cannot requeue job %s: %s", job, line);
}

/* Of a job without options. */
static void add_default(struct clv_slurm_command *command)
{
	bool is_denied = strcmp(settings.unrequested, "deny") == 0;

	clv_slurm_command_add(command, "--unrequested");
	clv_slurm_command_add(command, is_denied ? "deny" : "lease");
	if (is_denied)
		return;
	clv_slurm_command_add(command, clv_slurm_options[CLV_SLURM_SHARE].verb_option);
	clv_slurm_command_add(command, settings.unrequested);
}

static int join(spank_t sp, uint32_t job_id, const char *job)
{
	struct clv_slurm_command command = {};
	char user[16], pid[16], again[16];
	uint32_t restarts = 0;
	struct clv_error err;
	uid_t uid;
	int code;

	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return fail_step(EXIT_FAILED, "Slurm does not report the job's user");
	snprintf(user, sizeof(user), "%u", uid);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	/* Not from the environment, which the user controls. */
	spank_get_item(sp, S_SLURM_RESTART_COUNT, &restarts);
	snprintf(again, sizeof(again), "%u", restarts);
	begin_command(&command, "begin", job);
	clv_slurm_command_add(&command, "--user");
	clv_slurm_command_add(&command, user);
	clv_slurm_command_add(&command, "--pid");
	clv_slurm_command_add(&command, pid);
	clv_slurm_command_add(&command, "--restarts");
	clv_slurm_command_add(&command, again);
	if (!clv_slurm_wanted_any(&wanted))
		add_default(&command);
	for (int i = 0; i < _CLV_SLURM_WANT_MAX; i++) {
		if (!wanted.texts[i][0])
			continue;
		clv_slurm_command_add(&command, clv_slurm_options[i].verb_option);
		clv_slurm_command_add(&command, wanted.texts[i]);
	}
	code = clv_slurm_command_run(&command, step.why, sizeof(step.why));
	if (code)
		return fail_step(code, step.why);
	if (clv_slurm_recipe_load(settings.state, job_id, &step.recipe, &err) < 0)
		return fail_step(EXIT_FAILED, err.msg);
	return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
	struct clv_error err;
	uint32_t job_id, step_id;
	char job[16];

	if (clv_slurm_wanted_check(&wanted, &err) < 0)
		return refuse_options(&err);
	if (spank_context() != S_CTX_REMOTE ||
		spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
		spank_get_item(sp, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS ||
		step_id == SLURM_EXTERN_CONT)
		return 0;
	snprintf(job, sizeof(job), "%u", job_id);
	join(sp, job_id, job);
	if (step.exit_code == EXIT_NO_FIT && step_id == SLURM_BATCH_SCRIPT)
		requeue_job(job);
	/* As the subreaper, slurmstepd keeps daemons of tasks in the step and the lease.
	 */
	if (step.recipe.lease[0])
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	struct clv_error err;

	if (!step.exit_code && clv_slurm_inside_mount(&step.recipe, &err) < 0)
		fail_step(EXIT_FAILED, err.msg);
	return 0;
}

static int get_variable(void *userdata, const char *name, char *ret, size_t ret_bytes)
{
	return spank_getenv(userdata, name, ret, (int)ret_bytes) == ESPANK_SUCCESS
		       ? 0
		       : -ENOENT;
}

static int set_variable(void *userdata, const char *name, const char *value)
{
	return spank_setenv(userdata, name, value, 1) == ESPANK_SUCCESS ? 0 : -ENOMEM;
}

static void __attribute__((noreturn)) refuse(spank_t sp)
{
	int task = 0;

	spank_get_item(sp, S_TASK_ID, &task);
	if (task == 0)
		dprintf(STDERR_FILENO, "cleave: %s\n", step.why);
	_exit(step.exit_code);
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
	struct clv_slurm_environment environment = {get_variable, set_variable, sp};
	struct clv_error err;

	if (!step.exit_code && clv_slurm_inside_set(&step.recipe, &environment, &err) < 0)
		fail_step(EXIT_FAILED, err.msg);
	if (step.exit_code)
		refuse(sp);
	return 0;
}

/* Updates the job's comment before the step is over: Slurm refuses comments afterwards.
 */
int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
	char job[16], line[LINE_BYTES];
	uint32_t job_id;

	if (spank_context() != S_CTX_REMOTE || !step.recipe.lease[0] || step.exit_code ||
		spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return 0;
	snprintf(job, sizeof(job), "%u", job_id);
	/* The program started here must not be reparented to this slurmstepd. */
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	if (run_for_job("account", NULL, job, line))
		slurm_info("cleave: cannot account job %s: %s", job, line);
	return 0;
}

/* A failure does not drain the node: the release is retried by the epilog of the next
 * job, and when slurmd starts. */
int slurm_spank_job_epilog(spank_t sp, int argc, char **argv)
{
	char job[16], line[LINE_BYTES];
	uint32_t job_id;

	read_settings(argc, argv);
	if (spank_get_item(sp, S_JOB_ID, &job_id) != ESPANK_SUCCESS)
		return 0;
	snprintf(job, sizeof(job), "%u", job_id);
	if (!has_folder(job))
		return 0;
	if (run_for_job("end", NULL, job, line))
		slurm_error("cleave: cannot release the lease of job %s: %s", job, line);
	else if (line[0])
		slurm_info("cleave: job %s: %s", job, line);
	return 0;
}
