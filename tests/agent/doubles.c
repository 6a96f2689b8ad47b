/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles of sockets, processes, drivers, threads, timers and clocks.  The linker's
 * --wrap puts each __wrap_ function in the place of the function that its name contains.
 */
#include "world.h"

#include "agent/attach/gate-server.h"
#include "agent/device/device-lock.h"
#include "agent/lease/attached.h"
#include "agent/lease/debts.h"
#include "agent/lease/executor.h"
#include "agent/lease/kernel-quota.h"
#include "agent/lease/shared-vm.h"
#include "agent/os/pci-driver.h"
#include "agent/os/processes.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DOUBLE(name) extern __typeof__(name) __wrap_##name
#define REAL(name) extern __typeof__(name) __real_##name

/* --- Clocks and timers --- */

DOUBLE(clock_gettime);
REAL(clock_gettime);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (clock != CLOCK_REALTIME)
		return __real_clock_gettime(clock, ret);
	*ret = (struct timespec){.tv_sec = (time_t)(world.real_ns / CLV_NS_PER_S),
		.tv_nsec = (long)(world.real_ns % CLV_NS_PER_S)};
	return 0;
}

static int never(sd_event_source *source, void *userdata)
{
	return 0;
}

static void forget_timer(void *userdata)
{
	*(struct world_timer *)userdata = (struct world_timer){0};
}

static struct world_timer *free_timer(void)
{
	for (size_t i = 0; i < WORLD_TIMERS; i++) {
		if (!world.timers[i].source)
			return &world.timers[i];
	}
	abort();
}

DOUBLE(sd_event_add_time_relative);

/* The source never fires by itself: the world calls the function when it is due. */
int __wrap_sd_event_add_time_relative(sd_event *event, sd_event_source **ret,
	clockid_t clock, uint64_t after_us, uint64_t accuracy_us,
	sd_event_time_handler_t function, void *userdata)
{
	struct world_timer *timer = free_timer();
	sd_event_source *source;
	int r = sd_event_add_defer(event, &source, never, timer);

	if (r < 0)
		return r;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	sd_event_source_set_destroy_callback(source, forget_timer);
	*timer = (struct world_timer){.source = source,
		.function = function,
		.userdata = userdata,
		.due_ns = world.now_ns + after_us * CLV_NS_PER_US};
	*ret = source;
	return 0;
}

/* --- Memory --- */

DOUBLE(clv_array_grow);
REAL(clv_array_grow);

void *__wrap_clv_array_grow(void **items, size_t n, size_t item_bytes)
{
	if (world.allocations_left > 0 && --world.allocations_left == 0)
		return NULL;
	return __real_clv_array_grow(items, n, item_bytes);
}

/* --- Processes --- */

DOUBLE(clv_process_open);
DOUBLE(clv_process_read);
DOUBLE(clv_process_cgroup);
DOUBLE(clv_process_end);
DOUBLE(clv_process_has_ancestor);
DOUBLE(clv_watch_new);
DOUBLE(clv_watch_free);
DOUBLE(clv_watch_is_dead);
DOUBLE(clv_watch_signal);

int __wrap_clv_process_open(const struct clv_process_id *id)
{
	const struct world_process *process = world_find_process(id->pid);

	if (!process || !process->is_alive || process->id.start_ticks != id->start_ticks)
		return -ESRCH;
	return world_pidfd(id->pid);
}

int __wrap_clv_process_read(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks)
{
	const struct world_process *process = world_find_process(pid);

	if (!process || !process->is_alive)
		return -ESRCH;
	if (ret_parent)
		*ret_parent = process->parent;
	if (ret_start_ticks)
		*ret_start_ticks = process->id.start_ticks;
	return 0;
}

int __wrap_clv_process_cgroup(const struct clv_process_id *id, char ret[CLV_CGROUP_MAX])
{
	const struct world_process *process = world_find_process(id->pid);

	if (!process || !process->is_alive)
		return -ESRCH;
	snprintf(ret, CLV_CGROUP_MAX, "%s", process->cgroup ? process->cgroup : "");
	return process->cgroup ? 0 : -ENOENT;
}

static void note_signal(pid_t pid, int signal_number)
{
	struct world_process *process = world_find_process(pid);

	process->n_terms += signal_number == SIGTERM;
	process->n_kills += signal_number == SIGKILL;
}

/* As the real function: SIGTERM first, SIGKILL after five seconds. */
void __wrap_clv_process_end(
	const struct clv_process_id *id, uint64_t now_ns, uint64_t *signalled_ns)
{
	bool is_late = *signalled_ns > 0 && now_ns - *signalled_ns >= 5 * CLV_NS_PER_S;

	if (id->start_ticks == 0 || (*signalled_ns > 0 && !is_late))
		return;
	note_signal(id->pid, is_late ? SIGKILL : SIGTERM);
	*signalled_ns = now_ns;
}

bool __wrap_clv_process_has_ancestor(pid_t pid, clv_process_match match, void *userdata)
{
	const struct world_process *process;

	for (; (process = world_find_process(pid)); pid = process->parent) {
		if (match(userdata, &process->id))
			return true;
	}
	return false;
}

int __wrap_clv_watch_new(sd_event *event, int pidfd, void (*callback)(void *userdata),
	void *userdata, struct clv_watch **ret)
{
	struct world_watch *watch;

	if (world.no_watch) {
		close(pidfd);
		return -ENOMEM;
	}
	watch = world_add_watch(pidfd);
	watch->callback = callback;
	watch->userdata = userdata;
	*ret = (struct clv_watch *)watch;
	return 0;
}

struct clv_watch *__wrap_clv_watch_free(struct clv_watch *watch)
{
	if (watch)
		world_remove_watch((struct world_watch *)watch);
	return NULL;
}

static pid_t pid_of(const struct clv_watch *watch)
{
	return world.fds[((const struct world_watch *)watch)->pidfd];
}

bool __wrap_clv_watch_is_dead(const struct clv_watch *watch)
{
	return !world_find_process(pid_of(watch))->is_alive;
}

int __wrap_clv_watch_signal(const struct clv_watch *watch, int signal_number)
{
	note_signal(pid_of(watch), signal_number);
	return 0;
}

DOUBLE(clv_shared_vm_record);
DOUBLE(clv_shared_vm_find);
DOUBLE(clv_shared_vm_has_page);

void __wrap_clv_shared_vm_record(struct clv_attached *process)
{
}

enum clv_lookup __wrap_clv_shared_vm_find(
	const struct clv_attached *process, struct clv_process_id *ret)
{
	static const enum clv_lookup answers[] = {
		[WORLD_SHARER_NO] = CLV_ANSWER_NO,
		[WORLD_SHARER_UNKNOWN] = CLV_ANSWER_UNKNOWN,
		[WORLD_SHARER_YES] = CLV_ANSWER_YES,
	};

	*ret = world.sharer_id;
	return answers[world.sharer];
}

enum clv_lookup __wrap_clv_shared_vm_has_page(const struct clv_attached *process)
{
	return CLV_ANSWER_YES;
}

/* --- Gates, quotas of the kernel, executors --- */

DOUBLE(clv_gate_server_new);
DOUBLE(clv_gate_server_free);
DOUBLE(clv_gate_server_resume);
DOUBLE(clv_kernel_quota_set);
DOUBLE(clv_kernel_quota_clear);
DOUBLE(clv_kernel_quota_forget);
DOUBLE(clv_executor_begin);
DOUBLE(clv_executor_tick);

int __wrap_clv_gate_server_new(
	struct clv_lease *lease, struct clv_gate_server **ret, struct clv_error *err)
{
	if (world.no_gate)
		return clv_error_set(err, -EADDRINUSE, "no socket in this world");
	/* As the real function does before it listens. */
	if (clv_lease_make_folder(lease, err) < 0)
		return -EIO;
	world.n_gates++;
	*ret = malloc(1);
	return 0;
}

struct clv_gate_server *__wrap_clv_gate_server_free(struct clv_gate_server *server)
{
	world.n_gates -= server != NULL;
	free(server);
	return NULL;
}

void __wrap_clv_gate_server_resume(struct clv_gate_server *server)
{
	world.n_resumed++;
}

void __wrap_clv_kernel_quota_set(struct clv_lease *lease)
{
}

void __wrap_clv_kernel_quota_clear(struct clv_lease *lease)
{
}

void __wrap_clv_kernel_quota_forget(struct clv_lease *lease)
{
}

void __wrap_clv_executor_begin(struct clv_agent *agent, struct clv_agent_device *device)
{
}

void __wrap_clv_executor_tick(struct clv_agent_device *device)
{
}

/* --- The state file --- */

DOUBLE(clv_store_commit);
REAL(clv_store_commit);

int __wrap_clv_store_commit(struct clv_store *store, struct clv_error *err)
{
	if (world.no_commit)
		return clv_error_set(err, -ENOSPC, "the disk is full");
	return __real_clv_store_commit(store, err);
}

/* --- Drivers --- */

DOUBLE(clv_hardware_survey_for);
DOUBLE(clv_hardware_step);
DOUBLE(clv_hardware_sample);
DOUBLE(clv_hardware_readings);
DOUBLE(clv_pci_is_passed);
DOUBLE(clv_hardware_survey);
DOUBLE(clv_hardware_last_survey);
DOUBLE(clv_hardware_cancel);
DOUBLE(clv_device_lock);

static struct world_question *add_question(clv_hardware_fn done, void *userdata)
{
	struct world_question *question = &world.questions[world.n_questions++];

	if (world.n_questions > WORLD_QUESTIONS)
		abort();
	*question = (struct world_question){.done = done, .userdata = userdata};
	return question;
}

void __wrap_clv_hardware_survey_for(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata)
{
	add_question(done, userdata)->kind = WORLD_ASK;
}

void __wrap_clv_hardware_step(struct clv_hardware *hardware, const char *uuid,
	const struct clv_step *step, clv_hardware_fn done, void *userdata)
{
	struct world_question *question = add_question(done, userdata);

	question->kind = WORLD_STEP;
	question->step = *step;
	question->step.affected = NULL;
	snprintf(question->uuid, sizeof(question->uuid), "%s", uuid);
}

bool __wrap_clv_hardware_sample(
	struct clv_hardware *hardware, clv_hardware_fn done, void *userdata)
{
	if (world.n_questions > 0)
		return false;
	add_question(done, userdata)->kind = WORLD_SAMPLE;
	return true;
}

const struct clv_readings *__wrap_clv_hardware_readings(
	const struct clv_hardware *hardware)
{
	return &world.readings;
}

bool __wrap_clv_pci_is_passed(const char *address)
{
	return world.passed_address && strcmp(world.passed_address, address) == 0;
}

uint64_t __wrap_clv_hardware_survey(struct clv_hardware *hardware)
{
	return ++world.n_surveys;
}

uint64_t __wrap_clv_hardware_last_survey(const struct clv_hardware *hardware)
{
	return world.n_surveys;
}

void __wrap_clv_hardware_cancel(struct clv_hardware *hardware, const void *userdata)
{
	for (size_t i = 0; i < world.n_questions; i++) {
		if (world.questions[i].userdata == userdata)
			world.questions[i].done = NULL;
	}
}

int __wrap_clv_device_lock(const struct clv_lock_folder *folder, const char *uuid,
	const char *socket_path, struct clv_error *err)
{
	if (world.locked_uuid && strcmp(world.locked_uuid, uuid) == 0)
		return clv_error_set(err, -EADDRINUSE, "another agent has it");
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* --- The arbiter --- */

/* The agent's rooms only know the name of this struct. */
struct clv_arbiter {
	TAILQ_HEAD(, clv_arbiter_lease) leases;
};

struct clv_arbiter_lease {
	TAILQ_ENTRY(clv_arbiter_lease) entry;
	struct clv_share share;
	struct clv_arbiter_sample sample;
	uint64_t overhead_bytes;
	uint64_t slots[CLV_SLOTS / 64];
};

DOUBLE(clv_arbiter_new);
DOUBLE(clv_arbiter_free);
DOUBLE(clv_arbiter_add);
DOUBLE(clv_arbiter_remove);
DOUBLE(clv_arbiter_update);
DOUBLE(clv_arbiter_sample);
DOUBLE(clv_arbiter_set_overhead);
DOUBLE(clv_arbiter_set_sm);
DOUBLE(clv_arbiter_open_slot);
DOUBLE(clv_arbiter_close_slot);
DOUBLE(clv_arbiter_each_debt);
DOUBLE(clv_arbiter_restore_debt);

int __wrap_clv_arbiter_new(const struct clv_arbiter_config *config,
	struct clv_arbiter **ret, struct clv_error *err)
{
	*ret = calloc(1, sizeof(**ret));
	TAILQ_INIT(&(*ret)->leases);
	return 0;
}

/* The lease pages are freed with the arbiter. */
struct clv_arbiter *__wrap_clv_arbiter_free(struct clv_arbiter *arbiter)
{
	struct clv_arbiter_lease *lease;

	while (arbiter && (lease = TAILQ_FIRST(&arbiter->leases))) {
		TAILQ_REMOVE(&arbiter->leases, lease, entry);
		free(lease);
		world.n_arbiter_leases--;
	}
	free(arbiter);
	return NULL;
}

int __wrap_clv_arbiter_add(struct clv_arbiter *arbiter, const struct clv_share *share,
	const char *tenant, int report_fd, struct clv_arbiter_lease **ret,
	struct clv_error *err)
{
	struct clv_arbiter_lease *lease = calloc(1, sizeof(*lease));

	lease->share = *share;
	TAILQ_INSERT_TAIL(&arbiter->leases, lease, entry);
	world.n_arbiter_leases++;
	*ret = lease;
	return 0;
}

void __wrap_clv_arbiter_remove(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	TAILQ_REMOVE(&arbiter->leases, lease, entry);
	world.n_arbiter_leases--;
	free(lease);
}

void __wrap_clv_arbiter_update(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, const struct clv_share *share)
{
	lease->share = *share;
}

void __wrap_clv_arbiter_sample(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, struct clv_arbiter_sample *ret)
{
	*ret = lease->sample;
	ret->memory_overhead_bytes = lease->overhead_bytes;
	ret->memory_used_bytes += lease->overhead_bytes;
}

void __wrap_clv_arbiter_set_overhead(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes)
{
	lease->overhead_bytes = n_bytes;
}

void __wrap_clv_arbiter_set_sm(
	struct clv_arbiter_lease *lease, uint32_t ppm, const struct clv_sm_part *part)
{
}

static bool is_open(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return lease->slots[slot / 64] >> slot % 64 & 1;
}

int __wrap_clv_arbiter_open_slot(struct clv_arbiter *arbiter,
	struct clv_arbiter_lease *lease, uint32_t old_slot, uint32_t *ret_slot,
	struct clv_error *err)
{
	uint32_t slot = 0;

	if (old_slot < CLV_SLOTS && !is_open(lease, old_slot))
		slot = old_slot;
	while (slot < CLV_SLOTS && is_open(lease, slot))
		slot++;
	if (slot == CLV_SLOTS)
		return clv_error_set(err, -ENOSPC, "no slot");
	lease->slots[slot / 64] |= UINT64_C(1) << slot % 64;
	lease->sample.n_slots++;
	*ret_slot = slot;
	return 0;
}

void __wrap_clv_arbiter_close_slot(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint32_t slot)
{
	lease->slots[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	lease->sample.n_slots--;
}

void __wrap_clv_arbiter_each_debt(
	struct clv_arbiter *arbiter, clv_arbiter_debt_fn fn, void *userdata)
{
}

int __wrap_clv_arbiter_restore_debt(
	struct clv_arbiter *arbiter, const struct clv_policy_debt *debt)
{
	return 0;
}

struct clv_arbiter_sample *world_sample(struct clv_lease *lease)
{
	return &lease->arbiter_lease->sample;
}

const struct clv_share *world_enforced(const struct clv_lease *lease)
{
	return &lease->arbiter_lease->share;
}

uint64_t world_overhead(const struct clv_lease *lease)
{
	return lease->arbiter_lease->overhead_bytes;
}
