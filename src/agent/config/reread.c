/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/config/reread.h"

#include "agent/config/config.h"
#include "agent/config/daemon.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "base/yaml.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

/* Shared by the thread and the loop; the last of the two users frees it. */
struct job {
	atomic_uint n_users;
	struct clv_agent_config options;
	struct clv_read_settings settings;
	int event_fd; /* written when settings is whole */
};

struct clv_reread {
	struct job *job;
	sd_event_source *source;
	void (*on_read)(void *userdata, struct clv_read_settings *settings);
	void *userdata;
};

static void leave(struct job *job)
{
	if (atomic_fetch_sub(&job->n_users, 1) > 1)
		return;
	clv_config_free(job->settings.config);
	free(job->settings.certificate);
	free(job->settings.key);
	clv_close_fd(&job->event_fd);
	free(job);
}

/* Keeps the first mistake. */
static void keep_first(void *userdata, const struct clv_error *mistake)
{
	struct clv_error *first = userdata;

	if (first->code == 0)
		*first = *mistake;
}

static int read_settings(struct job *job)
{
	struct clv_error first = {0}, *err = &job->settings.err;
	struct clv_yaml_mistakes mistakes = {keep_first, &first, 0};
	int r = clv_daemon_read_settings(
		&job->options, &mistakes, &job->settings.config, err);

	if (r >= 0 || mistakes.n == 0)
		return r == -EBADMSG ? err->code = -EINVAL : r;
	if (mistakes.n == 1)
		return clv_error_set(err, -EINVAL, "%s", first.msg);
	return clv_error_set(err, -EINVAL,
		"%zu mistakes, which cleaved --check shows; the first: %.180s",
		mistakes.n, first.msg);
}

static void *run(void *userdata)
{
	struct job *job = userdata;
	struct clv_read_settings *settings = &job->settings;

	clv_thread_block_signals();
	settings->r = read_settings(job);
	if (settings->r >= 0)
		settings->r = clv_config_read_tls(settings->config,
			&settings->certificate, &settings->key, &settings->err);
	if (settings->r < 0)
		settings->config = clv_config_free(settings->config);
	eventfd_write(job->event_fd, 1);
	leave(job);
	return NULL;
}

static int start_thread(struct job *job)
{
	pthread_t thread;
	int r;

	atomic_fetch_add(&job->n_users, 1);
	r = pthread_create(&thread, NULL, run, job);
	if (r == 0)
		pthread_detach(thread);
	else
		atomic_fetch_sub(&job->n_users, 1);
	return r;
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_reread *reread = userdata;
	struct clv_read_settings settings = reread->job->settings;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	reread->job->settings = (struct clv_read_settings){0};
	/* The callback may free the reread. */
	reread->on_read(reread->userdata, &settings);
	return 0;
}

int clv_reread_new(sd_event *event, const struct clv_agent_config *options,
	void (*on_read)(void *userdata, struct clv_read_settings *settings),
	void *userdata, struct clv_reread **ret, struct clv_error *err)
{
	struct clv_reread *reread = calloc(1, sizeof(*reread));
	struct job *job = calloc(1, sizeof(*job));
	int r = ENOMEM;

	if (!reread || !job) {
		free(reread);
		free(job);
		return clv_error_errno(err, r, "cannot read the settings");
	}
	*reread =
		(struct clv_reread){.job = job, .on_read = on_read, .userdata = userdata};
	job->n_users = 1;
	job->options = *options;
	job->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = job->event_fd < 0 ? errno
			      : -sd_event_add_io(event, &reread->source, job->event_fd,
					EPOLLIN, on_done, reread);
	if (r <= 0)
		r = start_thread(job);
	if (r > 0) {
		clv_reread_free(reread);
		return clv_error_errno(err, r, "cannot read the settings");
	}
	*ret = reread;
	return 0;
}

struct clv_reread *clv_reread_free(struct clv_reread *reread)
{
	if (!reread)
		return NULL;
	sd_event_source_disable_unref(reread->source);
	leave(reread->job);
	free(reread);
	return NULL;
}
