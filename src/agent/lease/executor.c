/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the executor of each device, and reports leases whose work is not preempted.
 * Whether an NVIDIA GPU can be preempted is tested by a program of its own,
 * cleave-try-preempt, because the agent's process loads no driver. */
#include "agent/lease/executor.h"

#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/attached.h"
#include "agent/lease/numbering.h"
#include "agent/os/child.h"
#include "agent/os/stat.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "arbiter/arbiter.h"
#include "arbiter/attach.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "rm/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "cleave-try-preempt"
/* Creating the first context may take tens of seconds. */
#define TIMEOUT_NS (60 * CLV_NS_PER_S)
#define NVIDIA_MAJOR 195u /* Documentation/admin-guide/devices.txt */
#define METHOD_MAX 16
#define RETRY_NS (60 * CLV_NS_PER_S)
/* A process is reported if not all its channels are known after this many ticks. */
#define BEHIND_MAX 2

struct clv_executor {
	struct clv_agent *agent;
	struct clv_agent_device *device;
	struct clv_child *child; /* the test, while it runs */
	enum clv_rm_method method;
	enum clv_halt_policy halting;
	/* When to repeat a test that failed, for lack of memory for example; 0: never. */
	uint64_t retry_ns;
	char reason[160];
	uint32_t n_waited_for; /* leases whose turns end by waiting for their work */
	char full_reason[256]; /* the reason with this number */
};

/* The result of the test. */

static void set_method(struct clv_executor *executor, enum clv_rm_method method)
{
	executor->method = method;
	executor->n_waited_for = 0;
	clv_arbiter_set_method(executor->device->arbiter, method);
}

static void fall_back(struct clv_executor *executor, const char *why)
{
	char reason[sizeof(executor->reason)];

	snprintf(reason, sizeof(reason), "work is not preempted: %.120s", why);
	/* A repeated test must not repeat the event. */
	if (strcmp(reason, executor->reason) != 0)
		clv_events_emit_for_device(executor->agent, CLV_EVENT_DEVICE_EXECUTOR,
			executor->device->info.name,
			"the gate enforces its shares, and a turn ends when its work is "
			"complete: %s",
			why);
	memcpy(executor->reason, reason, sizeof(reason));
	set_method(executor, CLV_RM_BY_NOTHING);
}

static void accept_method(
	struct clv_executor *executor, const char *name, unsigned off_us, unsigned on_us)
{
	enum clv_rm_method method = clv_rm_method_from_string(name);

	if (method == CLV_RM_BY_NOTHING) {
		fall_back(executor, PROGRAM " is of another version");
		return;
	}
	snprintf(executor->reason, sizeof(executor->reason),
		"work is preempted by %s: stopped in %u us, resumed in %u us", name,
		off_us, on_us);
	clv_events_emit_for_device(executor->agent, CLV_EVENT_DEVICE_EXECUTOR,
		executor->device->info.name, "the hardware enforces its shares: %s",
		executor->reason);
	set_method(executor, method);
}

/* A driver that could not run a kernel may succeed later: the GPU may have been full. */
static void reject_method(struct clv_executor *executor, const char *why)
{
	if (strncmp(why, "CUDA error", strlen("CUDA error")) == 0)
		executor->retry_ns = clv_clock_ns() + RETRY_NS;
	fall_back(executor, why);
}

static void read_answer(struct clv_executor *executor, const char *line)
{
	unsigned off_us, on_us;
	char method[METHOD_MAX], why[120];

	if (sscanf(line, "ok %15s %u %u", method, &off_us, &on_us) == 3)
		accept_method(executor, method, off_us, on_us);
	else if (sscanf(line, "no %119[^\n]", why) == 1)
		reject_method(executor, why);
	else
		fall_back(executor, PROGRAM " gave no answer");
}

static void on_end(void *userdata, const struct clv_child_end *end)
{
	struct clv_executor *executor = userdata;
	char line[256] = "";

	if (end->output)
		snprintf(line, sizeof(line), "%.*s", (int)end->n_bytes, end->output);
	if (end->is_timed_out)
		fall_back(executor, PROGRAM " took longer than a minute");
	else if (end->signal != 0)
		fall_back(executor, PROGRAM " crashed");
	else
		read_answer(executor, line);
}

/* Running the test. */

/* Looks beside the agent, where packages install it, in a build tree, and in libexec for
 * an agent in bin. */
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

static void start_test(struct clv_executor *executor)
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

static void halt_threads(struct clv_executor *executor, enum clv_halt_policy halting)
{
	snprintf(executor->reason, sizeof(executor->reason), "%s",
		halting == CLV_HALTING_ALWAYS
			? "work is preempted: the driver's threads are stopped by signals"
			: "turns end when work is complete; overdue work is stopped by "
			  "signals");
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
			"work is not preempted: the setting executor is gate");
	else if (is_processor(device))
		halt_threads(executor, choice == CLV_EXECUTOR_CPU ? CLV_HALTING_ALWAYS
								  : CLV_HALTING_OVERDUE);
	else
		start_test(executor);
}

void clv_executor_end_all(struct clv_agent *agent)
{
	for (size_t i = 0; agent->devices && i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		if (device->executor)
			clv_child_free(device->executor->child);
		free(device->executor);
		device->executor = NULL;
	}
}

/* Leases whose work cannot be preempted although the device's can. */

static const char *const waiting_reasons[] = {
	[CLV_KNOWN_NOT_YET] = "has not reported all its channels yet",
	[CLV_KNOWN_TOO_LONG] =
		"and others have more channels than can be stopped in time",
	[CLV_KNOWN_TOO_MANY] = "has more channels than the agent can record",
};

static int pid_in(const struct clv_lease *lease, uint32_t slot)
{
	const struct clv_attached *process;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (process->has_slot && process->record.slot == slot)
			return process->record.id.pid;
	}
	return 0;
}

static void report(
	const struct clv_lease *lease, enum clv_preempt_knowledge known, uint32_t slot)
{
	if (lease->is_not_preempted)
		clv_lease_emit(lease, CLV_EVENT_DEVICE_EXECUTOR,
			"its work is not preempted, and its turns end when the work is "
			"complete: process %d %s",
			pid_in(lease, slot), waiting_reasons[known]);
	else
		clv_lease_emit(lease, CLV_EVENT_DEVICE_EXECUTOR,
			"its work is preempted again at the end of its turns");
}

static void update_lease(struct clv_lease *lease)
{
	bool was_waited_for = lease->is_not_preempted;
	uint32_t slot;
	enum clv_preempt_knowledge known =
		clv_arbiter_known(lease->device->arbiter, lease->arbiter_lease, &slot);

	lease->n_ticks_unknown =
		known == CLV_KNOWN_NOT_YET ? lease->n_ticks_unknown + 1 : 0;
	lease->is_not_preempted =
		known > CLV_KNOWN_NOT_YET || lease->n_ticks_unknown >= BEHIND_MAX;
	if (lease->is_not_preempted != was_waited_for)
		report(lease, known, slot);
}

static void update_leases(struct clv_executor *executor)
{
	struct clv_lease *lease;

	executor->n_waited_for = 0;
	LIST_FOREACH(lease, &executor->agent->in_use, of_use)
	{
		if (lease->device != executor->device || !lease->arbiter_lease)
			continue;
		if (executor->method == CLV_RM_BY_NOTHING)
			lease->is_not_preempted = false;
		else
			update_lease(lease);
		executor->n_waited_for += lease->is_not_preempted;
	}
	snprintf(executor->full_reason, sizeof(executor->full_reason),
		"%s; the work of %u lease%s is waited for: see the device_executor "
		"events",
		executor->reason, executor->n_waited_for,
		executor->n_waited_for == 1 ? "" : "s");
}

void clv_executor_tick(struct clv_agent_device *device)
{
	struct clv_executor *executor = device->executor;
	uint32_t status;
	char why[80];

	if (!executor)
		return;
	if (executor->retry_ns > 0 && clv_clock_ns() >= executor->retry_ns) {
		executor->retry_ns = 0;
		start_test(executor);
	}
	update_leases(executor);
	status = clv_arbiter_retry_resume(device->arbiter);
	if (status == 0 || executor->method == CLV_RM_BY_NOTHING)
		return;
	snprintf(why, sizeof(why), "the driver refuses to stop work (status 0x%x)",
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
	const struct clv_executor *executor = device->executor;

	if (!executor || executor->reason[0] == '\0')
		return NULL;
	return executor->n_waited_for > 0 ? executor->full_reason : executor->reason;
}

/* Processes. */

/* A tenant may send any file, also one that it serves itself (FUSE). */
static bool is_nvidia(int fd)
{
	struct statx file;

	return clv_stat_known(fd, "", &file) && S_ISCHR(file.stx_mode) &&
	       file.stx_rdev_major == NVIDIA_MAJOR;
}

/* Objects are recorded also while the test runs or is to be repeated: they may be needed
 * afterwards. */
static bool needs_objects(const struct clv_executor *executor)
{
	return executor && (executor->method != CLV_RM_BY_NOTHING ||
				   executor->reason[0] == '\0' || executor->retry_ns > 0);
}

void clv_executor_record_object(struct clv_attached *process, int fd,
	const struct clv_rm_object *object, uint64_t as_of)
{
	struct clv_lease *lease = process->lease;
	struct clv_arbiter *arbiter = lease->device->arbiter;

	if (!process->has_slot || !lease->arbiter_lease ||
		!needs_objects(lease->device->executor))
		return;
	/* Also when the agent had no free descriptor to receive the file. */
	if (object->class != 0 && !is_nvidia(fd)) {
		clv_arbiter_note_object_lost(
			arbiter, lease->arbiter_lease, process->record.slot);
		return;
	}
	if (object->class == CLV_RM_CLASS_GROUP)
		clv_notify(lease->agent->notify, CLV_NOTICE_COMPUTES);
	/* A failure shows in clv_arbiter_known(). */
	clv_arbiter_note_object(
		arbiter, lease->arbiter_lease, process->record.slot, fd, object, as_of);
}

void clv_executor_record_threads(
	struct clv_attached *process, const int32_t *tids, uint32_t n)
{
	struct clv_lease *lease = process->lease;
	const struct clv_executor *executor = lease->device->executor;
	int32_t own[CLV_ATTACH_THREADS_MAX];

	/* Only the first list of a connection counts: translating its tids reads /proc
	 * for each thread. */
	if (process->has_sent_threads || !process->has_slot || !lease->arbiter_lease ||
		!executor || executor->halting == CLV_HALTING_NEVER)
		return;
	process->has_sent_threads = true;
	if (!clv_numbering_of_threads(process->record.id.pid, tids, n, own))
		return;
	clv_arbiter_note_threads(lease->device->arbiter, lease->arbiter_lease,
		process->record.slot, process->record.id.pid, own, n);
}
