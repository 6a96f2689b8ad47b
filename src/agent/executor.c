/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executor.h"

#include "agent/agent.h"
#include "agent/attached.h"
#include "agent/child.h"
#include "agent/config.h"
#include "agent/devices.h"
#include "agent/events.h"
#include "agent/numbering.h"
#include "agent/watchdog.h"
#include "arbiter/arbiter.h"
#include "arbiter/attach.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "rm/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PROGRAM "cleave-try-preempt"
#define TIMEOUT_NS (60 * CLV_NS_PER_S) /* a first context may take tens of seconds */
#define NVIDIA_MAJOR 195u              /* Documentation/admin-guide/devices.txt */
#define METHOD_MAX 16
#define AGAIN_NS (60 * CLV_NS_PER_S)

struct clv_executor {
	struct clv_agent *agent;
	struct clv_agent_device *device;
	struct clv_child *child; /* while it is tried */
	enum clv_rm_method method;
	enum clv_halting halting;
	uint64_t again_ns; /* when to try again what failed for want of memory, say; 0:
			      never */
	char reason[160];
};

/* What was found. */

static void use(struct clv_executor *executor, enum clv_rm_method method)
{
	executor->method = method;
	clv_arbiter_set_method(executor->device->arbiter, method);
}

static void fall_back(struct clv_executor *executor, const char *why)
{
	char reason[sizeof(executor->reason)];

	snprintf(reason, sizeof(reason), "work is not stopped half-way: %.120s", why);
	/* It may be tried again and again. */
	if (strcmp(reason, executor->reason) != 0)
		clv_events_emit_for_device(executor->agent, CLV_EVENT_DEVICE_EXECUTOR,
			executor->device->info.name,
			"its shares are held by the gate, and turns end when work is "
			"complete: %s",
			why);
	memcpy(executor->reason, reason, sizeof(reason));
	use(executor, CLV_RM_BY_NOTHING);
}

static void take_up(
	struct clv_executor *executor, const char *name, unsigned off_us, unsigned on_us)
{
	enum clv_rm_method method = clv_rm_method_from_string(name);

	if (method == CLV_RM_BY_NOTHING) {
		fall_back(executor, "the program that tries it is of another version");
		return;
	}
	snprintf(executor->reason, sizeof(executor->reason),
		"work is stopped half-way by %s: off in %u us, on in %u us", name, off_us,
		on_us);
	clv_events_emit_for_device(executor->agent, CLV_EVENT_DEVICE_EXECUTOR,
		executor->device->info.name, "its shares are held by the hardware: %s",
		executor->reason);
	use(executor, method);
}

/* A driver that cannot run a kernel now may be able to later: the GPU is full. */
static void take_refusal(struct clv_executor *executor, const char *why)
{
	if (strncmp(why, "CUDA error", strlen("CUDA error")) == 0)
		executor->again_ns = clv_clock_ns() + AGAIN_NS;
	fall_back(executor, why);
}

static void read_answer(struct clv_executor *executor, const char *line)
{
	unsigned off_us, on_us;
	char method[METHOD_MAX], why[120];

	if (sscanf(line, "ok %15s %u %u", method, &off_us, &on_us) == 3)
		take_up(executor, method, off_us, on_us);
	else if (sscanf(line, "no %119[^\n]", why) == 1)
		take_refusal(executor, why);
	else
		fall_back(executor, "the program that tries it said nothing");
}

static void on_end(void *userdata, const struct clv_child_end *end)
{
	struct clv_executor *executor = userdata;
	char line[256] = "";

	if (end->output)
		snprintf(line, sizeof(line), "%.*s", (int)end->n_bytes, end->output);
	if (end->is_timed_out)
		fall_back(executor, "trying it took over a minute");
	else if (end->signal != 0)
		fall_back(executor, "the program that tries it crashed");
	else
		read_answer(executor, line);
}

/* Trying. */

/* Beside the agent, where it is installed; in a build tree; or where an agent that is
 * installed for people finds it. */
static bool find_program(char ret[CLV_PATH_MAX])
{
	static const char *const places[] = {
		PROGRAM, "../rm/" PROGRAM, "../libexec/cleave/" PROGRAM};
	char self[CLV_PATH_MAX / 2];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return false;
	self[length] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(ret, CLV_PATH_MAX, "%.*s/%s", (int)(slash - self), self,
			places[i]);
		if (access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

static void try(struct clv_executor *executor)
{
	char path[CLV_PATH_MAX];
	char *arguments[] = {(char[]){PROGRAM}, executor->device->info.uuid, NULL};
	struct clv_error err = {0};

	executor->child = clv_child_free(executor->child);
	if (!find_program(path))
		fall_back(executor, PROGRAM " is not installed");
	else if (clv_child_start(executor->agent->event, path, arguments, TIMEOUT_NS,
			 on_end, executor, &executor->child, &err) < 0)
		fall_back(executor, err.msg);
}

static bool is_processor(const struct clv_agent_device *device)
{
	return strcmp(device->info.backend, "opencl") == 0 &&
	       strcmp(device->info.type, "cpu") == 0;
}

static void halt_threads(struct clv_executor *executor, enum clv_halting halting)
{
	snprintf(executor->reason, sizeof(executor->reason), "%s",
		halting == CLV_HALTING_ALWAYS
			? "work is stopped half-way: the driver's threads stand still"
			: "work is waited for, and stopped half-way if it does not end");
	executor->halting = halting;
	clv_arbiter_halt_threads(executor->device->arbiter, halting);
}

void clv_executor_begin(struct clv_agent *agent, struct clv_agent_device *device)
{
	struct clv_executor *executor;
	enum clv_executor_choice choice = agent->settings->executor;

	if (device->executor ||
		(!is_processor(device) &&
			(device->parent || strcmp(device->info.backend, "nvidia") != 0)))
		return;
	executor = calloc(1, sizeof(*executor));
	if (!executor)
		return;
	executor->agent = agent;
	executor->device = device;
	device->executor = executor;
	if (choice == CLV_EXECUTOR_GATE)
		snprintf(executor->reason, sizeof(executor->reason),
			"work is not stopped half-way: the settings say so");
	else if (is_processor(device))
		halt_threads(executor, choice == CLV_EXECUTOR_CPU ? CLV_HALTING_ALWAYS
								  : CLV_HALTING_OVERDUE);
	else
		try(executor);
}

struct clv_executor *clv_executor_free(struct clv_executor *executor)
{
	if (!executor)
		return NULL;
	clv_child_free(executor->child);
	free(executor);
	return NULL;
}

void clv_executor_tick(struct clv_agent_device *device)
{
	struct clv_executor *executor = device->executor;
	uint32_t status;
	char why[80];

	if (!executor)
		return;
	if (executor->again_ns > 0 && clv_clock_ns() >= executor->again_ns) {
		executor->again_ns = 0;
		try(executor);
	}
	status = clv_arbiter_tend_stopped(device->arbiter);
	if (status == 0 || executor->method == CLV_RM_BY_NOTHING)
		return;
	snprintf(why, sizeof(why), "the driver does not do it any more (status 0x%x)",
		status);
	fall_back(executor, why);
}

const char *clv_executor_name(const struct clv_agent_device *device)
{
	if (device->executor && device->executor->halting == CLV_HALTING_ALWAYS)
		return "cpu";
	return device->executor && device->executor->method != CLV_RM_BY_NOTHING
		       ? "hardware"
		       : device->info.executor;
}

const char *clv_executor_reason(const struct clv_agent_device *device)
{
	return device->executor && device->executor->reason[0] != '\0'
		       ? device->executor->reason
		       : NULL;
}

/* Processes. */

/* A tenant may send any file; a call on one of his own making might never return. */
static bool is_nvidia(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       major(st.st_rdev) == NVIDIA_MAJOR;
}

/* Kept as long as it may be of use: also while it is being tried. */
static bool is_wanted(const struct clv_executor *executor)
{
	return executor && (executor->method != CLV_RM_BY_NOTHING ||
				   executor->reason[0] == '\0' || executor->again_ns > 0);
}

void clv_executor_note(
	struct clv_attached *process, int fd, const struct clv_rm_object *object)
{
	struct clv_lease *lease = process->lease;

	if (!process->has_slot || !lease->arbiter_lease ||
		!is_wanted(lease->device->executor))
		return;
	if (object->class != 0 && !is_nvidia(fd))
		return;
	if (object->class == CLV_RM_CLASS_GROUP)
		clv_watchdog_hurry(lease->agent->watchdog);
	clv_arbiter_note_object(lease->device->arbiter, lease->arbiter_lease,
		process->record.slot, fd, object);
}

void clv_executor_note_threads(
	struct clv_attached *process, const int32_t *tids, uint32_t n)
{
	struct clv_lease *lease = process->lease;
	const struct clv_executor *executor = lease->device->executor;
	int32_t own[CLV_ATTACH_THREADS_MAX];

	/* The list is made once; finding out the numbers costs a look at each thread. */
	if (process->has_told_threads || !process->has_slot || !lease->arbiter_lease ||
		!executor || executor->halting == CLV_HALTING_NEVER)
		return;
	process->has_told_threads = true;
	if (!clv_numbering_of_threads(process->record.id.pid, tids, n, own))
		return;
	clv_arbiter_note_threads(lease->device->arbiter, lease->arbiter_lease,
		process->record.slot, process->record.id.pid, own, n);
}
