/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the threads in which a driver computes, and stops them (workers.h). */
#include "gate/opencl/device/workers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/futex.h"
#include "gate/attach/attach.h"
#include "gate/attach/heartbeat.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/process/view.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The timeout of one wait in the handler.  If the agent is dead a thread continues after
 * one wait, if it is silent after three: within 100 ms in both cases. */
#define LOOK_NS (25 * CLV_NS_PER_MS)
#define NAME_BYTES 16 /* of a thread's name: TASK_COMM_LEN */

static struct clv_attach_threads workers = {.magic = CLV_ATTACH_THREADS_MAGIC};
static struct sigaction program_action; /* the program's own for the signal */
static pthread_mutex_t find_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t has_searched;

/* Stopping. */

static bool must_wait(struct clv_heartbeat *heartbeat)
{
	struct clv_view *view = clv_gate_current_view();

	return view && atomic_load(&view->control->is_halted) &&
	       !clv_gate_agent_is_dead(view) && !clv_heartbeat_look(heartbeat, view);
}

/* The signal may interrupt anything, so this takes no lock. */
static void halt(void)
{
	struct clv_heartbeat heartbeat = {0};
	struct clv_view *view;

	while (must_wait(&heartbeat)) {
		view = clv_gate_current_view();
		clv_futex_wait(&view->control->is_halted, 1, LOOK_NS);
	}
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	if (info->si_code == SI_QUEUE && info->si_int == CLV_ATTACH_HALT_VALUE)
		halt();
	else if (program_action.sa_flags & SA_SIGINFO)
		program_action.sa_sigaction(number, info, context);
	else if (program_action.sa_handler != SIG_DFL &&
		 program_action.sa_handler != SIG_IGN)
		program_action.sa_handler(number);
	errno = saved_errno;
}

static bool take_signal(void)
{
	struct sigaction action = {.sa_sigaction = on_signal};

	if (sigaction(CLV_ATTACH_HALT_SIGNAL, NULL, &program_action) < 0)
		return false;
	action.sa_mask = program_action.sa_mask;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	return sigaction(CLV_ATTACH_HALT_SIGNAL, &action, NULL) == 0;
}

/* Finding them. */

/* A new thread has its creator's name until it gets another one.  So if the calling
 * thread has a unique name during the driver's call, the threads with this name are those
 * that the driver starts in it, and their children; threads that other threads of the
 * program start meanwhile have other names.  PoCL names none of its threads.  Threads to
 * which a driver gives names are not found: turns end when their work is complete. */
static void make_mark(char ret[NAME_BYTES])
{
	snprintf(ret, NAME_BYTES, "cleave-%d", (int)syscall(SYS_gettid));
}

static bool has_name(int task_fd, const char *tid, const char *name)
{
	char path[64], found[NAME_BYTES + 1];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/comm", tid);
	fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, found, NAME_BYTES);
	if (n <= 0 || found[n - 1] != '\n')
		return false;
	found[n - 1] = '\0';
	return strcmp(found, name) == 0;
}

static void give_name(int task_fd, const char *tid, const char *name)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%.20s/comm", tid);
	fd = openat(task_fd, path, O_WRONLY | O_CLOEXEC);
	/* If this fails the thread keeps the mark as its name, which does no harm. */
	if (fd >= 0)
		(void)!write(fd, name, strlen(name));
}

/* Records the threads that have the mark, and gives them the name instead. */
static void keep_marked(const char *mark, const char *name)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	uint32_t n = 0;

	while (folder && (entry = readdir(folder))) {
		if (!has_name(dirfd(folder), entry->d_name, mark))
			continue;
		give_name(dirfd(folder), entry->d_name, name);
		if (n < CLV_ATTACH_THREADS_MAX)
			workers.tids[n] = atoi(entry->d_name);
		n++;
	}
	if (folder)
		closedir(folder);
	/* All threads are recorded, or none. */
	workers.n = n <= CLV_ATTACH_THREADS_MAX ? n : 0;
}

/* Unblocks the signal meanwhile, because new threads inherit the mask. */
static cl_int get_devices_first(cl_platform_id platform, cl_device_type type,
	cl_uint room, cl_device_id *devices, cl_uint *ret_n)
{
	char mark[NAME_BYTES], name[NAME_BYTES] = "";
	sigset_t halting, mask;
	bool is_marked;
	cl_int r;

	make_mark(mark);
	sigemptyset(&halting);
	sigaddset(&halting, CLV_ATTACH_HALT_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &halting, &mask);
	is_marked = prctl(PR_GET_NAME, name) == 0 && prctl(PR_SET_NAME, mark) == 0;
	r = clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	if (is_marked)
		prctl(PR_SET_NAME, name);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	/* Also if there is no device of the type: the driver has created all devices. */
	if (is_marked)
		keep_marked(mark, name);
	if (workers.n > 0 && !take_signal())
		workers.n = 0;
	return r;
}

cl_int clv_workers_get_devices(const struct clv_view *view, cl_platform_id platform,
	cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *ret_n)
{
	cl_int r;

	if (atomic_load(&has_searched))
		return clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	pthread_mutex_lock(&find_lock);
	if (atomic_load(&has_searched)) {
		r = clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	} else {
		r = get_devices_first(platform, type, room, devices, ret_n);
		atomic_store(&has_searched, 1);
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
	pthread_mutex_init(&find_lock, NULL);
	workers.n = 0;
}
