/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/workers.h"

#include "base/clock.h"
#include "base/futex.h"
#include "gate/attach.h"
#include "gate/heartbeat.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Of a wait in the handler.  With a dead agent a thread goes on after one, with a silent
 * one after three, both within 100 ms. */
#define LOOK_NS (25 * CLV_NS_PER_MS)

static struct clv_attach_threads workers = {.magic = CLV_ATTACH_THREADS_MAGIC};
static struct sigaction others; /* that had the signal before */
static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t is_looked_for;

/* Stopping. */

static bool is_to_wait(struct clv_heartbeat *heartbeat)
{
	struct clv_view *view = clv_gate_peek();

	return view && atomic_load(&view->control->is_halted) &&
	       !clv_gate_agent_is_dead(view) && !clv_heartbeat_look(heartbeat, view);
}

/* In the middle of anything, so only what takes no lock. */
static void halt(void)
{
	struct clv_heartbeat heartbeat = {0};
	struct clv_view *view;

	while (is_to_wait(&heartbeat)) {
		view = clv_gate_peek();
		clv_futex_wait(&view->control->is_halted, 1, LOOK_NS);
	}
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	if (info->si_code == SI_QUEUE && info->si_int == CLV_ATTACH_HALT_VALUE)
		halt();
	else if (others.sa_flags & SA_SIGINFO)
		others.sa_sigaction(number, info, context);
	else if (others.sa_handler != SIG_DFL && others.sa_handler != SIG_IGN)
		others.sa_handler(number);
	errno = saved_errno;
}

static bool take_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_signal};

	if (sigaction(CLV_ATTACH_HALT_SIGNAL, NULL, &others) < 0)
		return false;
	action.sa_mask = others.sa_mask;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	return sigaction(CLV_ATTACH_HALT_SIGNAL, &action, NULL) == 0;
}

/* Finding them. */

static uint32_t list_threads(int32_t tids[CLV_ATTACH_THREADS_MAX])
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	uint32_t n = 0;

	while (folder && n < CLV_ATTACH_THREADS_MAX && (entry = readdir(folder))) {
		int tid = atoi(entry->d_name);

		if (tid > 0)
			tids[n++] = tid;
	}
	if (folder)
		closedir(folder);
	return n;
}

static bool is_among(const int32_t *tids, uint32_t n, int32_t tid)
{
	for (uint32_t i = 0; i < n; i++) {
		if (tids[i] == tid)
			return true;
	}
	return false;
}

static void keep_new(const int32_t *before, uint32_t n_before)
{
	int32_t now[CLV_ATTACH_THREADS_MAX];
	uint32_t n = list_threads(now);

	/* Perhaps not all. */
	if (n == CLV_ATTACH_THREADS_MAX)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_among(before, n_before, now[i]))
			workers.tids[workers.n++] = now[i];
	}
}

/* They must not inherit that the program blocks the signal. */
static cl_int find(cl_platform_id platform, cl_device_type type, cl_uint room,
	cl_device_id *devices, cl_uint *ret_n)
{
	int32_t before[CLV_ATTACH_THREADS_MAX];
	uint32_t n_before = list_threads(before);
	sigset_t halting, mask;
	cl_int r;

	sigemptyset(&halting);
	sigaddset(&halting, CLV_ATTACH_HALT_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &halting, &mask);
	r = clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (r == CL_SUCCESS && n_before > 0 && n_before < CLV_ATTACH_THREADS_MAX)
		keep_new(before, n_before);
	if (workers.n > 0 && !take_signal())
		workers.n = 0;
	return r;
}

cl_int clv_workers_get_devices(const struct clv_view *view, cl_platform_id platform,
	cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *ret_n)
{
	cl_int r;

	if (atomic_load(&is_looked_for))
		return clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	pthread_mutex_lock(&find_lock);
	if (atomic_load(&is_looked_for)) {
		r = clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	} else {
		r = find(platform, type, room, devices, ret_n);
		atomic_store(&is_looked_for, 1);
		clv_workers_tell(view);
	}
	pthread_mutex_unlock(&find_lock);
	return r;
}

void clv_workers_tell(const struct clv_view *view)
{
	if (workers.n > 0)
		clv_attach_tell(view, &workers,
			offsetof(struct clv_attach_threads, tids) +
				workers.n * sizeof(workers.tids[0]),
			NULL);
}

void clv_workers_forget_parent(void)
{
	workers.n = 0;
}
