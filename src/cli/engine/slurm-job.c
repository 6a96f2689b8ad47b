/* SPDX-License-Identifier: Apache-2.0 */
/* The lease of a Slurm job is a kept lease named slurm-JOB, owned by the job's user.  Its
 * folder is created before the lease and removed after it, so that the next begin, end or
 * sweep finds everything that a killed command left. */
#include "cli/engine/slurm-job.h"

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/units.h"
#include "bridge/slurm/ask.h"
#include "bridge/slurm/recipe.h"
#include "cli/engine/slurm-recipe.h"
#include "cli/frame/cli.h"
#include "cli/launch/lease-request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define COMMENT_MAX 4096
#define FOLDERS_DEEP 8
#define ACCOUNT_STEP 0.0005 /* seconds; smaller differences are not written */
#define ACCOUNT_TRIES 4
#define LEFT "left"

struct job {
	const struct clv_slurm_settings *settings;
	char folder[CLV_PATH_MAX / 2];
	char name[96]; /* of the lease */
	int lock_fd;
	struct clv_client *client;
};

static void job_done(struct job *job)
{
	clv_client_free(job->client);
	if (job->lock_fd >= 0)
		close(job->lock_fd);
}
#define _cleanup_job_ __attribute__((cleanup(job_done)))

/* If several slurmd of a machine share one agent, the lease's name includes the node. */
static void job_init(const struct clv_slurm_settings *s, uint64_t number, struct job *ret)
{
	*ret = (struct job){.settings = s, .lock_fd = -1};
	snprintf(ret->folder, sizeof(ret->folder), "%s/%llu", s->state,
		(unsigned long long)number);
	snprintf(ret->name, sizeof(ret->name), "slurm-%llu%s%.60s",
		(unsigned long long)number, s->node ? "-" : "", s->node ? s->node : "");
}

/* Locks the job's folder: steps of a job begin concurrently, also while its lease ends.
 */
static int lock(struct job *job, bool make)
{
	struct clv_error err;

	if (make && (clv_path_make(job->settings->state, 0755, &err) < 0 ||
			    clv_path_make(job->folder, 0755, &err) < 0))
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	job->lock_fd = open(job->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (job->lock_fd < 0 || flock(job->lock_fd, LOCK_EX) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot lock %s: %m", job->folder);
	return 0;
}

static int connect_agent(struct job *job)
{
	return job->client ? 0
			   : clv_cli_connect(
				     &job->settings->request.common, false, &job->client);
}

static int remove_entry(
	const char *path, const struct stat *st, int kind, struct FTW *where)
{
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static void remove_folder(const char *folder)
{
	nftw(folder, remove_entry, FOLDERS_DEEP, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* --- Beginning --- */

/* Writes the requested lease in a canonical form, "" if no lease is requested. */
static void describe(const struct clv_lease_settings *s, char ret[CLV_SLURM_ASKED_MAX])
{
	char least[16] = "", most[16] = "";

	if (s->share.ppm)
		clv_units_format_fraction(s->share.ppm, least);
	if (s->share.most_ppm)
		clv_units_format_fraction(s->share.most_ppm, most);
	ret[0] = '\0';
	if (!s->share.ppm && !s->memory_bytes && !s->class_name && !s->profile)
		return;
	snprintf(ret, CLV_SLURM_ASKED_MAX, "share %s%s%s memory %llu class %s profile %s",
		least[0] ? least : "none", most[0] ? ".." : "", most,
		(unsigned long long)s->memory_bytes,
		s->class_name ? s->class_name : "normal",
		s->profile ? s->profile : "none");
}

static int admit(struct job *job, const struct clv_slurm_recipe *recipe)
{
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;

	if (connect_agent(job))
		return CLV_EXIT_UNREACHABLE;
	if (clv_client_lease_join(job->client, recipe->lease, (int)job->settings->pid,
		    &lease, &err) == 0)
		return 0;
	if (strcmp(err.code, "not_found") == 0)
		return clv_cli_fail(CLV_EXIT_NOT_PERMITTED,
			"the lease of job %llu on this node ended before the job: see "
			"cleave events, and submit the job again",
			(unsigned long long)job->settings->job);
	return clv_cli_fail_client(&err);
}

/* Releases the job's lease if a step created it and was killed before it wrote the
 * recipe. */
static int release_unrecorded(struct job *job)
{
	_cleanup_json_ json_t *list = NULL;
	struct clv_client_error err;
	json_t *each;
	size_t i;

	if (clv_client_leases(job->client, &list, &err) < 0)
		return clv_cli_fail_client(&err);
	json_array_foreach (json_object_get(list, "items"), i, each) {
		if (strcmp(clv_json_text(each, "name"), job->name) == 0 &&
			clv_json_flag(each, "kept") &&
			clv_client_lease_release(
				job->client, clv_json_text(each, "id"), true, &err) < 0 &&
			strcmp(err.code, "not_found") != 0)
			return clv_cli_fail_client(&err);
	}
	return 0;
}

/* Slurm queues jobs, so a lease for a job cannot wait for room, which the agent's message
 * may advise. */
static int fail_create(const struct clv_client_error *err)
{
	if (strcmp(err->code, "does_not_fit") != 0)
		return clv_cli_fail_client(err);
	return clv_cli_fail(clv_cli_exit_code(err->code),
		"%s; in a Slurm job, instead of --wait: submit the job again later",
		err->msg);
}

static int create(struct job *job, json_t **ret)
{
	const struct clv_slurm_settings *s = job->settings;
	struct clv_client_lease_request request = clv_lease_request(&s->request);
	struct clv_client_error err;
	char command[32];
	int r = clv_lease_request_check(&s->request);

	if (r)
		return r;
	snprintf(command, sizeof(command), "job %llu", (unsigned long long)s->job);
	request.name = job->name;
	request.command = command;
	request.keep = true;
	request.has_user = true;
	request.user = (uint32_t)strtoul(s->user, NULL, 10);
	r = clv_client_lease_create(job->client, &request, ret, &err);
	if (r < 0 && strcmp(err.code, "name_in_use") == 0) {
		if (release_unrecorded(job))
			return CLV_EXIT_FAILED;
		r = clv_client_lease_create(job->client, &request, ret, &err);
	}
	return r < 0 ? fail_create(&err) : 0;
}

static int write_recipe(struct job *job, const struct clv_slurm_recipe *recipe)
{
	char path[CLV_PATH_MAX];
	_cleanup_free_ char *text = NULL;
	struct clv_error err;

	snprintf(path, sizeof(path), "%s/" CLV_SLURM_RECIPE, job->folder);
	if (clv_slurm_recipe_write(recipe, &text) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (clv_file_replace(path, text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static int make(struct job *job, struct clv_slurm_recipe *recipe)
{
	_cleanup_json_ json_t *lease = NULL;
	struct clv_error err;
	int r = connect_agent(job);

	if (!r)
		r = create(job, &lease);
	if (r)
		return r;
	recipe->restarts = (unsigned int)job->settings->restarts;
	describe(&job->settings->request, recipe->asked);
	if (clv_slurm_recipe_of(lease, job->folder, recipe, &err) < 0)
		r = clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	else
		r = write_recipe(job, recipe);
	if (r)
		clv_client_lease_release(
			job->client, clv_json_text(lease, "id"), true, NULL);
	return r;
}

static int fail_other(const struct job *job, const struct clv_slurm_recipe *recipe)
{
	char asked[CLV_SLURM_ASKED_MAX];

	describe(&job->settings->request, asked);
	return clv_cli_fail(CLV_EXIT_USAGE,
		"job %llu has a lease on this node already (%s), and this step asks for "
		"another (%s): leave out the options of cleave here, since all "
		"steps of "
		"a job share its lease",
		(unsigned long long)job->settings->job, recipe->asked, asked);
}

static bool asks_for_another(const struct job *job, const struct clv_slurm_recipe *recipe)
{
	char asked[CLV_SLURM_ASKED_MAX];

	describe(&job->settings->request, asked);
	return asked[0] && strcmp(asked, recipe->asked) != 0;
}

/* What a job without options gets, once for the job and node.  A job that has GPUs by
 * Slurm's own gres is left alone. */
static int make_unrequested(struct job *job, struct clv_slurm_recipe *recipe)
{
	const struct clv_slurm_settings *s = job->settings;
	struct clv_error err;
	int r = clv_slurm_query_gpus((unsigned int)s->job, &err);

	if (r == 0 && strcmp(s->unrequested, "deny") != 0)
		return make(job, recipe);
	recipe->restarts = (unsigned int)s->restarts;
	if (r == 0)
		r = clv_slurm_recipe_deny(job->folder, recipe, &err);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg)
		     : write_recipe(job, recipe);
}

static int begin(struct job *job)
{
	bool is_requested = !job->settings->unrequested;
	_cleanup_recipe_ struct clv_slurm_recipe recipe = {};
	struct clv_error err;
	int r = clv_slurm_recipe_load(
		job->settings->state, (unsigned int)job->settings->job, &recipe, &err);

	/* The job was requeued, and its earlier lease here was never ended. */
	if (r == 0 && recipe.restarts != job->settings->restarts) {
		clv_slurm_recipe_clear(&recipe);
		unlinkat(job->lock_fd, LEFT, 0);
		r = connect_agent(job);
		if (!r)
			r = release_unrecorded(job);
		if (r)
			return r;
		r = -ENOENT;
	}
	/* Earlier steps had no options. */
	if (r == 0 && is_requested && !recipe.lease[0]) {
		clv_slurm_recipe_clear(&recipe);
		r = -ENOENT;
	}
	if (r == 0 && is_requested && asks_for_another(job, &recipe))
		return fail_other(job, &recipe);
	if (r < 0) {
		r = is_requested ? make(job, &recipe) : make_unrequested(job, &recipe);
		if (r)
			return r;
	}
	return recipe.lease[0] ? admit(job, &recipe) : 0;
}

int clv_slurm_job_begin(const struct clv_slurm_settings *settings)
{
	_cleanup_job_ struct job job;
	char recipe[CLV_PATH_MAX];
	int r;

	job_init(settings, settings->job, &job);
	r = lock(&job, true);
	if (r)
		return r;
	r = begin(&job);
	snprintf(recipe, sizeof(recipe), "%s/" CLV_SLURM_RECIPE, job.folder);
	if (r && access(recipe, F_OK) < 0)
		remove_folder(job.folder);
	return r;
}

/* --- Ending --- */

static const char *node_of(const struct clv_slurm_settings *s, char host[64])
{
	if (s->node)
		return s->node;
	if (gethostname(host, 64) < 0)
		return "node";
	host[63] = '\0';
	host[strcspn(host, ".")] = '\0';
	return host;
}

static int try_update_comment(const struct job *job, const char *name, double seconds,
	unsigned int *ret_nodes, struct clv_error *err)
{
	unsigned int number = (unsigned int)job->settings->job;
	char comment[COMMENT_MAX];
	int r = clv_slurm_query_comment(number, comment, sizeof(comment), ret_nodes, err);

	if (r < 0)
		return r;
	if (clv_slurm_get_seconds(comment, name) >= seconds - ACCOUNT_STEP)
		return 0;
	if (clv_slurm_set_seconds(comment, sizeof(comment), name, seconds) < 0)
		return clv_error_set(err, -ENOSPC, "the job's comment is too long");
	r = clv_slurm_set_comment(number, comment, err);
	return r < 0 ? r : 1;
}

/* The job's nodes update the comment concurrently: reads it back and retries. */
static int update_comment(const struct job *job, const struct clv_slurm_recipe *recipe,
	double seconds, struct clv_error *err)
{
	char host[64], name[96], again[16] = "";
	unsigned int n_nodes = 1;
	int r = 1;

	/* A requeued job keeps the seconds of its earlier runs. */
	if (recipe->restarts)
		snprintf(again, sizeof(again), "/%u", recipe->restarts);
	snprintf(name, sizeof(name), "%s%s", node_of(job->settings, host), again);
	for (int i = 0; r == 1 && i < ACCOUNT_TRIES && (i == 0 || n_nodes > 1); i++)
		r = try_update_comment(job, name, seconds, &n_nodes, err);
	return r;
}

int clv_slurm_job_account(const struct clv_slurm_settings *s)
{
	_cleanup_recipe_ struct clv_slurm_recipe recipe = {};
	_cleanup_json_ json_t *lease = NULL;
	_cleanup_job_ struct job job;
	struct clv_client_error client_err;
	struct clv_error err;
	double seconds;
	int r;

	job_init(s, s->job, &job);
	if (clv_slurm_recipe_load(s->state, (unsigned int)s->job, &recipe, NULL) < 0 ||
		!recipe.lease[0])
		return 0;
	r = lock(&job, false);
	if (!r)
		r = connect_agent(&job);
	if (r)
		return r;
	if (clv_client_lease(job.client, recipe.lease, &lease, &client_err) < 0)
		return clv_cli_fail_client(&client_err);
	seconds = clv_json_number(lease, "held_seconds");
	if (seconds >= ACCOUNT_STEP && update_comment(&job, &recipe, seconds, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static int release(struct job *job)
{
	_cleanup_recipe_ struct clv_slurm_recipe recipe = {};
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	int loaded = clv_slurm_recipe_load(
		job->settings->state, (unsigned int)job->settings->job, &recipe, NULL);
	int r;

	if (loaded == 0 && !recipe.lease[0])
		return 0;
	r = connect_agent(job);
	if (r)
		return r;
	if (loaded < 0)
		return release_unrecorded(job);
	if (clv_client_lease(job->client, recipe.lease, &lease, &err) < 0)
		return strcmp(err.code, "not_found") == 0 ? 0 : clv_cli_fail_client(&err);
	r = clv_client_lease_release(job->client, recipe.lease, true, &err);
	if (r < 0 && strcmp(err.code, "not_found") != 0)
		return clv_cli_fail_client(&err);
	/* For slurmd's log: Slurm rejects a comment on a job that is over. */
	clv_cli_fail(0, "gpu_seconds=%.3f", clv_json_number(lease, "held_seconds"));
	return 0;
}

/* Whether an earlier attempt to end the job's lease failed, as without an agent. */
static bool is_marked_failed(const struct job *job)
{
	return faccessat(job->lock_fd, LEFT, F_OK, 0) == 0;
}

static void mark_failed(const struct job *job)
{
	close(openat(job->lock_fd, LEFT, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Ends the job's lease and removes its folder.  With only_left only after an earlier
 * attempt has failed; begin removes that mark when the job is requeued. */
static int end(const struct clv_slurm_settings *s, bool only_left)
{
	_cleanup_job_ struct job job;
	int r;

	job_init(s, s->job, &job);
	if (access(job.folder, F_OK) < 0)
		return 0;
	r = lock(&job, false);
	if (r || (only_left && !is_marked_failed(&job)))
		return r;
	r = release(&job);
	if (r)
		mark_failed(&job);
	else
		remove_folder(job.folder);
	return r;
}

/* Returns the next job that has a folder; 0 after the last one. */
static unsigned int next_job(DIR *folder)
{
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char *rest;
		unsigned long number = strtoul(entry->d_name, &rest, 10);

		if (number > 0 && number <= UINT32_MAX && *rest == '\0')
			return (unsigned int)number;
	}
	return 0;
}

static int end_others(const struct clv_slurm_settings *s, bool only_left)
{
	DIR *folder = opendir(s->state);
	struct clv_slurm_settings one = *s;
	int r = 0;

	while ((one.job = next_job(folder))) {
		if (one.job != s->job &&
			(only_left || clv_slurm_query_state((unsigned int)one.job) ==
					      CLV_SLURM_JOB_OVER))
			r = end(&one, only_left) || r;
	}
	if (folder)
		closedir(folder);
	return r ? CLV_EXIT_FAILED : 0;
}

int clv_slurm_job_end(const struct clv_slurm_settings *s)
{
	int r = end(s, false);

	if (!r)
		end_others(s, true);
	return r;
}

int clv_slurm_job_sweep(const struct clv_slurm_settings *s)
{
	struct clv_slurm_settings all = *s;

	all.job = 0;
	return end_others(&all, false);
}
