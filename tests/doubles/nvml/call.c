/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "files.h"
#include "handles.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_VARIABLE "CLV_NVML_DOUBLE"

/* The node that this process uses, from the first nvmlInit to the last nvmlShutdown. */
static struct {
	pthread_mutex_t lock;
	unsigned users;
	int dirfd;
	struct dnv_node node;
	struct dnv_shared *shared;
	struct dnv_state *edit; /* not NULL: the call changes the state */
	struct dnv_state seen_at_init;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER, .dirfd = -1};

const struct dnv_node *dnv_node(void)
{
	return &world.node;
}

const struct dnv_state *dnv_state(void)
{
	return dnv_shared_state(world.shared);
}

int dnv_dirfd(void)
{
	return world.dirfd;
}

struct dnv_state *dnv_edit(void)
{
	if (!world.edit)
		world.edit = dnv_shared_edit(world.shared);
	return world.edit;
}

const struct dnv_state *dnv_mig_view(void)
{
	return world.node.stale ? &world.seen_at_init : dnv_state();
}

static void leave_node(void)
{
	if (world.shared)
		dnv_shared_close(world.shared);
	if (world.dirfd >= 0)
		close(world.dirfd);
	world.shared = NULL;
	world.dirfd = -1;
}

/* Without a folder, or without its file `node`, there is no driver. */
static bool enter_node(void)
{
	const char *folder = getenv(FOLDER_VARIABLE);

	leave_node();
	if (!folder || !*folder)
		return false;
	world.dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (world.dirfd < 0 || !dnv_node_read(world.dirfd, &world.node)) {
		leave_node();
		return false;
	}
	world.shared = dnv_shared_open(world.dirfd, &world.node);
	return true;
}

int dnv_attach(uint32_t flags)
{
	if (!world.shared)
		return DNV_DRIVER_NOT_LOADED;
	if (!world.node.n_gpus && !(flags & DNV_INIT_NO_GPUS))
		return DNV_GPU_NOT_FOUND;
	if (!world.users++) {
		dnv_handles_forget();
		world.seen_at_init = *dnv_state();
	}
	return DNV_SUCCESS;
}

int dnv_detach(void)
{
	if (!--world.users)
		dnv_files_close();
	return DNV_SUCCESS;
}

static bool works_before_init(enum dnv_function function)
{
#define CASE(name, parameters, arguments) case DNV_##name:
	switch (function) {
		DNV_ANYTIME(CASE)
		return true;
	default:
		return false;
	}
#undef CASE
}

/* One line with one write, so that processes may share the file, which the test
 * creates. */
static void write_log(struct dnv_call *call, const char *result)
{
	char line[160];
	int n, fd;

	call->logged = true;
	fd = openat(world.dirfd, "calls", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%llu %d %s %llu %s\n",
		(unsigned long long)call->sequence, (int)getpid(),
		dnv_function_name(call->function), (unsigned long long)call->nth, result);
	if (write(fd, line, (size_t)n) != n)
		perror("cleave-double-nvml: cannot write the log");
	close(fd);
}

static void log_code(struct dnv_call *call, int code)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", code);
	write_log(call, text);
}

static void die_now(struct dnv_call *call)
{
	write_log(call, "killed");
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Like a call that is stuck in the kernel: only SIGKILL ends it. */
static void hang(double seconds)
{
	struct timespec left;

	while (seconds < 0)
		pause();
	left.tv_sec = (time_t)seconds;
	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static void lock(struct dnv_call *call)
{
	pthread_mutex_lock(&world.lock);
	if (world.shared)
		dnv_shared_lock(world.shared);
	call->entered = true;
}

static void unlock(struct dnv_call *call)
{
	world.edit = NULL;
	if (world.shared)
		dnv_shared_unlock(world.shared);
	pthread_mutex_unlock(&world.lock);
	call->entered = false;
}

static void count(struct dnv_call *call)
{
	struct dnv_counters *counters = dnv_shared_counters(world.shared);

	call->sequence = ++counters->calls;
	call->nth = ++counters->calls_of[call->function];
	call->fault = dnv_fault_due(world.dirfd, counters, call->function);
}

/* Other processes continue while this call hangs. */
static void hang_unlocked(struct dnv_call *call)
{
	write_log(call, "hangs");
	unlock(call);
	hang(call->fault.seconds);
}

/* False where the fault ends the call. */
static bool suffer_before(struct dnv_call *call)
{
	if (call->fault.when != DNV_FAULT_BEFORE)
		return true;
	switch (call->fault.kind) {
	case DNV_FAULT_NONE:
		return true;
	case DNV_FAULT_CODE:
		call->code = call->fault.code;
		return false;
	case DNV_FAULT_KILL:
		die_now(call);
		return false;
	case DNV_FAULT_HANG:
		hang_unlocked(call);
		lock(call);
		return true;
	}
	return true;
}

bool dnv_call_begin(struct dnv_call *call, enum dnv_function function)
{
	bool early = works_before_init(function);

	*call = (struct dnv_call){.function = function};
	pthread_mutex_lock(&world.lock);
	/* The first nvmlInit reads the folder's name and the node again. */
	if (!world.users && early)
		enter_node();
	pthread_mutex_unlock(&world.lock);
	lock(call);
	if (world.shared)
		count(call);
	if (!suffer_before(call))
		return false;
	call->code = DNV_UNINITIALIZED;
	return early || world.users;
}

static int suffer_after(struct dnv_call *call, int code)
{
	if (call->fault.when != DNV_FAULT_AFTER)
		return code;
	switch (call->fault.kind) {
	case DNV_FAULT_NONE:
		return code;
	case DNV_FAULT_CODE:
		return call->fault.code;
	case DNV_FAULT_KILL:
		die_now(call);
		return code;
	case DNV_FAULT_HANG:
		hang_unlocked(call);
		return code;
	}
	return code;
}

static void commit(struct dnv_call *call)
{
	if (!world.edit)
		return;
	if (call->fault.kind == DNV_FAULT_KILL && call->fault.when == DNV_FAULT_DURING)
		die_now(call);
	dnv_shared_commit(world.shared);
	world.edit = NULL;
}

int dnv_call_end(struct dnv_call *call, int code)
{
	if (code == DNV_SUCCESS)
		commit(call);
	code = suffer_after(call, code);
	if (world.shared && !call->logged)
		log_code(call, code);
	if (call->entered)
		unlock(call);
	return code;
}
