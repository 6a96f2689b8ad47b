/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues of jobs under one lock: waiting jobs for the thread, completed ones for the
 * event loop, which an eventfd wakes. */
#include "bridge/kubernetes/kubelet/worker.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
	struct clv_kube_job *first, **last;
};

struct clv_kube_worker {
	struct clv_kube_lease_sync *sync;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct queue waiting, done; /* under lock */
	bool is_ending, has_thread;
	int done_fd;
	sd_event_source *source;
};

static void append(struct queue *queue, struct clv_kube_job *job)
{
	job->next = NULL;
	*queue->last = job;
	queue->last = &job->next;
}

static struct clv_kube_job *pop(struct queue *queue)
{
	struct clv_kube_job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = &queue->first;
	return job;
}

static struct clv_kube_job *wait_for_job(struct clv_kube_worker *worker)
{
	struct clv_kube_job *job;

	pthread_mutex_lock(&worker->lock);
	while (!(job = pop(&worker->waiting)) && !worker->is_ending)
		pthread_cond_wait(&worker->changed, &worker->lock);
	pthread_mutex_unlock(&worker->lock);
	return job;
}

static void *work(void *userdata)
{
	struct clv_kube_worker *worker = userdata;
	struct clv_kube_job *job;

	while ((job = wait_for_job(worker))) {
		job->run(job, worker->sync);
		pthread_mutex_lock(&worker->lock);
		append(&worker->done, job);
		pthread_mutex_unlock(&worker->lock);
		eventfd_write(worker->done_fd, 1);
	}
	return NULL;
}

static void finish_done(struct clv_kube_worker *worker)
{
	for (;;) {
		struct clv_kube_job *job;

		pthread_mutex_lock(&worker->lock);
		job = pop(&worker->done);
		pthread_mutex_unlock(&worker->lock);
		if (!job)
			return;
		job->done(job);
	}
}

static int on_done(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	eventfd_t value;

	eventfd_read(fd, &value);
	finish_done(userdata);
	return 0;
}

/* The thread blocks all signals, which the loop handles. */
static int start_thread(struct clv_kube_worker *worker)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	worker->has_thread = r == 0;
	return -r;
}

CLV_DEFINE_CLEANUP(struct clv_kube_worker *, clv_kube_worker_free)

int clv_kube_worker_new(sd_event *event, struct clv_kube_lease_sync *sync,
	struct clv_kube_worker **ret, struct clv_error *err)
{
	CLV_CLEANUP(clv_kube_worker_freep)
	struct clv_kube_worker *worker = calloc(1, sizeof(*worker));
	int r;

	if (!worker)
		return clv_error_errno(err, ENOMEM, "cannot start");
	worker->sync = sync;
	worker->waiting.last = &worker->waiting.first;
	worker->done.last = &worker->done.first;
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->changed, NULL);
	worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = worker->done_fd < 0 ? -errno
				: sd_event_add_io(event, &worker->source, worker->done_fd,
					  EPOLLIN, on_done, worker);
	if (r >= 0)
		r = start_thread(worker);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot start a thread");
	*ret = CLV_TAKE(worker);
	return 0;
}

struct clv_kube_worker *clv_kube_worker_free(struct clv_kube_worker *worker)
{
	if (!worker)
		return NULL;

	pthread_mutex_lock(&worker->lock);
	worker->is_ending = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	if (worker->has_thread)
		pthread_join(worker->thread, NULL);
	finish_done(worker);
	sd_event_source_disable_unref(worker->source);
	clv_close_fd(&worker->done_fd);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
	return NULL;
}

void clv_kube_worker_submit(struct clv_kube_worker *worker, struct clv_kube_job *job)
{
	assert(job->run && job->done);
	pthread_mutex_lock(&worker->lock);
	assert(!worker->is_ending);
	append(&worker->waiting, job);
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
}
