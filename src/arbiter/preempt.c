/* SPDX-License-Identifier: Apache-2.0 */
/* Stops and resumes the work of a lease through the driver (GPU channels) or by signals
 * (the threads of a device that is the processor). */
#include "arbiter/preempt.h"

#include "arbiter/heartbeat.h"
#include "arbiter/threads/threads.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>
#include <stdlib.h>

/* By then a signal is delivered and its thread is in the handler. */
#define VERIFY_FIRST_NS (4 * CLV_NS_PER_MS)
#define VERIFY_NS (16 * CLV_NS_PER_MS)

static struct clv_preempt_process *find(
	const struct clv_arbiter_lease *lease, uint32_t slot)
{
	bool is_there = lease->preempt && lease->preempt[slot].channels;

	return is_there ? &lease->preempt[slot] : NULL;
}

/* The first recorded process from *slot on; *slot is then one past its slot.  NULL: there
 * are no more. */
static struct clv_preempt_process *next_process(
	const struct clv_arbiter_lease *lease, uint32_t *slot)
{
	uint32_t n_used =
		lease->n_preempt > 0 ? atomic_load(&lease->pages.control->slots_used) : 0;

	while (*slot < n_used) {
		struct clv_preempt_process *process = find(lease, (*slot)++);

		if (process)
			return process;
	}
	return NULL;
}

static struct clv_preempt_process *find_or_add(
	struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (process)
		return process;
	if (!lease->preempt)
		lease->preempt = calloc(CLV_SLOTS, sizeof(*lease->preempt));
	if (!lease->preempt)
		return NULL;
	process = &lease->preempt[slot];
	*process = (struct clv_preempt_process){.channels = clv_rm_channels_new(true)};
	lease->n_preempt += process->channels != NULL;
	return process->channels ? process : NULL;
}

static int note(struct clv_arbiter_lease *lease, struct clv_preempt_process *process,
	int fd, const struct clv_rm_object *object)
{
	int r;

	if (object->class != 0 && lease->n_objects >= CLV_PREEMPT_OBJECTS_MAX)
		return -E2BIG;
	lease->n_objects -= clv_rm_channels_count(process->channels);
	r = clv_rm_channels_note(process->channels, fd, object);
	lease->n_objects += clv_rm_channels_count(process->channels);
	return r;
}

/* Takes a new object of a process that is off the device off too. */
static int take_off(struct clv_arbiter *arbiter, struct clv_preempt_process *process,
	const struct clv_rm_object *object)
{
	uint32_t status;

	if (clv_rm_channels_count_calls(process->channels, process->off_by) >
		CLV_PREEMPT_CALLS_MAX)
		return -E2BIG;
	status = clv_rm_channels_switch_one(
		process->channels, object, process->off_by, false);
	if (status == 0)
		return 0;
	arbiter->refusal = status;
	arbiter->n_refusals++;
	return -EIO;
}

int clv_preempt_note(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease,
	uint32_t slot, int fd, const struct clv_rm_object *object, uint64_t as_of)
{
	struct clv_preempt_process *process = find_or_add(lease, slot);
	int r;

	if (!process)
		return -ENOMEM;
	if (object->client == 0 && as_of == 0) {
		process->is_put_back = process->off_by != CLV_RM_BY_NOTHING;
		return 0;
	}
	r = note(lease, process, fd, object);
	if (r == 0 && lease->is_stopped && process->off_by != CLV_RM_BY_NOTHING)
		r = take_off(arbiter, process, object);
	if (r < 0)
		process->has_lost = true;
	if (as_of != 0)
		process->as_of = as_of;
	return r;
}

void clv_preempt_note_lost(struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find_or_add(lease, slot);

	if (process)
		process->has_lost = true;
}

int clv_preempt_note_threads(struct clv_arbiter_lease *lease, uint32_t slot, pid_t pid,
	const int32_t *tids, uint32_t n)
{
	struct clv_preempt_process *process = find_or_add(lease, slot);
	struct clv_threads *threads = process ? clv_threads_new(pid, tids, n) : NULL;

	if (!threads)
		return -ENOMEM;
	clv_threads_free(process->threads);
	process->threads = threads;
	return 0;
}

void clv_preempt_forget(struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (!process)
		return;
	lease->n_objects -= clv_rm_channels_count(process->channels);
	clv_rm_channels_free(process->channels);
	clv_threads_free(process->threads);
	*process = (struct clv_preempt_process){0};
	lease->n_preempt--;
}

void clv_preempt_forget_all(struct clv_arbiter_lease *lease)
{
	for (uint32_t slot = 0; slot < CLV_SLOTS && lease->n_preempt > 0; slot++)
		clv_preempt_forget(lease, slot);
	free(lease->preempt);
	lease->preempt = NULL;
}

static bool is_open(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return lease->open_slots[slot / 64] >> (slot % 64) & 1;
}

static bool has_work(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	const struct clv_slot *s = &lease->pages.report->slots[slot];
	uint64_t done = atomic_load(&s->done);

	return is_open(lease, slot) && atomic_load(&s->entered) > done;
}

static bool halts_threads(const struct clv_arbiter *arbiter)
{
	return arbiter->halting != CLV_HALTING_NEVER;
}

/* Selects the processes that a check covers. */
typedef bool (*counts_fn)(const struct clv_arbiter_lease *lease, uint32_t slot);

static uint64_t n_changes_of(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return atomic_load(&lease->pages.report->turns[slot].n_changes);
}

/* Whether the process has had work, or has created objects and so is about to. */
static bool has_had_work(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return is_open(lease, slot) &&
	       (atomic_load(&lease->pages.report->slots[slot].entered) > 0 ||
		       n_changes_of(lease, slot) > 0);
}

static bool is_behind(const struct clv_arbiter_lease *lease, uint32_t slot)
{
	return lease->preempt[slot].as_of != n_changes_of(lease, slot);
}

/* Whether all work of the process can be stopped. */
static bool is_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t slot)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (process && halts_threads(arbiter))
		return process->threads && clv_threads_can_be_halted(process->threads);
	return process && clv_rm_channels_has_groups(process->channels) &&
	       !process->has_lost && !is_behind(lease, slot);
}

static size_t count_calls(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, counts_fn counts)
{
	const struct clv_preempt_process *process;
	uint32_t slot = 0;
	size_t n = 0;

	while ((process = next_process(lease, &slot))) {
		if (counts(lease, slot - 1))
			n += clv_rm_channels_count_calls(
				process->channels, arbiter->method);
	}
	return n;
}

/* Whether all selected processes can be stopped, with no more calls than a switch may
 * take. */
static bool are_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, counts_fn counts)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);

	for (uint32_t slot = 0; slot < n_used; slot++) {
		if (counts(lease, slot) && !is_known(arbiter, lease, slot))
			return false;
	}
	return count_calls(arbiter, lease, counts) <= CLV_PREEMPT_CALLS_MAX;
}

static bool has_means(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	bool halts = arbiter->halting == CLV_HALTING_ALWAYS ||
		     (arbiter->halting == CLV_HALTING_OVERDUE && lease->is_overdue);

	return (arbiter->method != CLV_RM_BY_NOTHING || halts) && lease->n_preempt > 0;
}

bool clv_preempt_can_stop(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	return has_means(arbiter, lease) && are_known(arbiter, lease, has_work);
}

bool clv_preempt_may_stop_next_turn(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	return has_means(arbiter, lease) && are_known(arbiter, lease, has_had_work);
}

static bool set_halted(const struct clv_arbiter_lease *lease, bool is_halted)
{
	_Atomic uint32_t *word = &lease->pages.control->is_halted;

	if (atomic_exchange(word, is_halted) == is_halted)
		return false;
	if (!is_halted)
		clv_futex_wake(word, INT_MAX);
	return true;
}

static void note_call(void *arbiter)
{
	clv_heartbeat_keep(arbiter);
}

static uint32_t switch_channels(struct clv_arbiter *arbiter,
	struct clv_preempt_process *process, enum clv_rm_method method, bool on)
{
	clv_rm_channels_call_after(process->channels, note_call, arbiter);
	return clv_rm_channels_switch(process->channels, method, on);
}

static bool switch_off(struct clv_arbiter *arbiter, struct clv_preempt_process *process)
{
	uint32_t status;

	if (halts_threads(arbiter))
		return process->threads && clv_threads_halt(process->threads);
	process->is_put_back = false;
	process->off_at_ns = clv_clock_ns();
	status = switch_channels(arbiter, process, arbiter->method, false);
	process->off_by = arbiter->method;
	if (status == 0) {
		arbiter->n_refusals = 0;
		return true;
	}
	arbiter->refusal = status;
	arbiter->n_refusals++;
	return false;
}

static bool stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	struct clv_preempt_process *process;
	uint32_t slot = 0;

	if (!clv_preempt_can_stop(arbiter, lease))
		return false;
	if (halts_threads(arbiter))
		set_halted(lease, true);
	while ((process = next_process(lease, &slot))) {
		if (!has_work(lease, slot - 1) || switch_off(arbiter, process))
			continue;
		clv_preempt_resume(arbiter, lease);
		return false;
	}
	lease->is_stopped = true;
	lease->stopped_at_ns = clv_clock_ns();
	lease->verify_at_ns = lease->stopped_at_ns + VERIFY_FIRST_NS;
	return true;
}

/* Work that runs on without a turn may be waiting for a thread in line. */
bool clv_preempt_stop(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	bool is_stopped = stop(arbiter, lease);

	atomic_store(&lease->pages.control->is_preemptible, is_stopped);
	return is_stopped;
}

/* Returns whether the process's threads are halted, as far as is known. */
static bool verify_threads(
	const struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (!process->threads || !has_work(lease, slot))
		return true;
	if (!clv_threads_are_halted(process->threads))
		return clv_threads_halt(process->threads);
	return clv_threads_verify(process->threads, now_ns);
}

/* Whether the reported objects have been incomplete for long.  The agent learns of an
 * object that is created while the process is off soon, and a new object has no work
 * yet. */
static bool is_long_behind(
	const struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns)
{
	struct clv_preempt_process *process = &lease->preempt[slot];

	if (!is_behind(lease, slot))
		process->behind_since_ns = 0;
	else if (process->behind_since_ns == 0)
		process->behind_since_ns = now_ns;
	return process->behind_since_ns > 0 &&
	       now_ns - process->behind_since_ns >= VERIFY_NS;
}

/* A gate that says so all the time occupies the arbiter no more than any other. */
static bool is_to_take_off_again(
	const struct clv_preempt_process *process, uint64_t now_ns)
{
	return process->is_put_back && now_ns >= process->off_at_ns + VERIFY_NS;
}

/* The same for channels.  Those of a process that was idle when the others were stopped
 * are still on, and are taken off now; and those that the gate put back because the
 * arbiter did not run for a while. */
static bool verify_channels(struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t slot, uint64_t now_ns)
{
	struct clv_preempt_process *process = find(lease, slot);

	if (!has_work(lease, slot))
		return true;
	if (process && process->off_by != CLV_RM_BY_NOTHING &&
		!is_to_take_off_again(process, now_ns))
		return !process->has_lost && !is_long_behind(lease, slot, now_ns);
	return is_known(arbiter, lease, slot) && switch_off(arbiter, process);
}

static bool is_to_verify(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	return lease->is_stopped && (now_ns >= lease->verify_at_ns ||
					    (lease->rung && !halts_threads(arbiter)));
}

bool clv_preempt_verify(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t now_ns)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used), slot = 0;
	bool is_still = true;

	if (!is_to_verify(arbiter, lease, now_ns))
		return true;
	lease->verify_at_ns = now_ns + VERIFY_NS;
	if (halts_threads(arbiter)) {
		while (next_process(lease, &slot))
			is_still &= verify_threads(lease, slot - 1, now_ns);
		return is_still;
	}
	is_still = count_calls(arbiter, lease, has_work) <= CLV_PREEMPT_CALLS_MAX;
	for (; slot < n_used && is_still; slot++)
		is_still = verify_channels(arbiter, lease, slot, now_ns);
	if (is_still)
		lease->stopped_at_ns = now_ns;
	return is_still;
}

void clv_preempt_halt_again(
	const struct clv_arbiter *arbiter, const struct clv_arbiter_lease *lease)
{
	const struct clv_preempt_process *process;
	uint32_t slot = 0;

	if (!halts_threads(arbiter) || !lease->is_stopped)
		return;
	while ((process = next_process(lease, &slot))) {
		if (process->threads && clv_threads_are_halted(process->threads))
			clv_threads_halt(process->threads);
	}
}

bool clv_preempt_is_off(const struct clv_arbiter_lease *lease)
{
	const struct clv_preempt_process *process;
	uint32_t slot = 0;

	while ((process = next_process(lease, &slot))) {
		if (process->off_by != CLV_RM_BY_NOTHING)
			return true;
	}
	return lease->is_stopped && atomic_load(&lease->pages.control->is_halted);
}

/* process->off_by stays set if the driver refuses, so that the next call retries:
 * otherwise the process would never run again. */
void clv_preempt_resume(struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease)
{
	struct clv_preempt_process *process;
	uint32_t slot = 0;

	lease->is_stopped = false;
	set_halted(lease, false);
	while ((process = next_process(lease, &slot))) {
		uint32_t status;

		if (process->threads)
			clv_threads_resume(process->threads);
		status = switch_channels(arbiter, process, process->off_by, true);

		if (status == 0) {
			process->off_by = CLV_RM_BY_NOTHING;
			process->is_put_back = false;
		} else {
			/* Unlike a refusal to stop, this cannot be a race: counts as
			 * permanent. */
			arbiter->refusal = status;
			arbiter->n_refusals = CLV_PREEMPT_REFUSALS;
		}
	}
}

/* Why a process cannot be stopped, for display. */
static enum clv_preempt_knowledge known_of(
	const struct clv_arbiter_lease *lease, uint32_t slot)
{
	const struct clv_preempt_process *process = find(lease, slot);
	uint64_t n_changes = n_changes_of(lease, slot);

	if (n_changes == UINT64_MAX || (process && process->has_lost))
		return CLV_KNOWN_TOO_MANY;
	return n_changes != (process ? process->as_of : 0) ? CLV_KNOWN_NOT_YET
							   : CLV_KNOWN_ALL;
}

enum clv_preempt_knowledge clv_preempt_known(const struct clv_arbiter *arbiter,
	const struct clv_arbiter_lease *lease, uint32_t *ret_slot)
{
	uint32_t n_used = atomic_load(&lease->pages.control->slots_used);
	enum clv_preempt_knowledge worst = CLV_KNOWN_ALL;

	*ret_slot = 0;
	if (arbiter->method == CLV_RM_BY_NOTHING)
		return CLV_KNOWN_ALL;
	for (uint32_t slot = 0; slot < n_used; slot++) {
		enum clv_preempt_knowledge known =
			is_open(lease, slot) ? known_of(lease, slot) : CLV_KNOWN_ALL;

		if (known > worst || (worst == CLV_KNOWN_ALL && find(lease, slot)))
			*ret_slot = slot;
		if (known > worst)
			worst = known;
	}
	if (worst == CLV_KNOWN_ALL &&
		count_calls(arbiter, lease, has_had_work) > CLV_PREEMPT_CALLS_MAX)
		return CLV_KNOWN_TOO_LONG;
	return worst;
}
