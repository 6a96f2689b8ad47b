/* SPDX-License-Identifier: Apache-2.0 */
/* Two leases on a device whose driver preempts; the test is their gates, and the
 * driver. */
#include "arbiter/arbiter.h"
#include "arbiter/attach.h"
#include "arbiter/internal.h"
#include "arbiter/publish.h"
#include "base/error.h"
#include "rm/abi.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000 /* a bound for what hangs */

static struct clv_arbiter *arbiter;
static struct clv_arbiter_lease *a, *b;
/* The lease whose gate submits just before its turn ends, and the one that has created
 * objects by then which it has not reported. */
static _Atomic(struct clv_arbiter_lease *) late, unreported;

int __wrap_ioctl(int fd, unsigned long request, void *call);
void __real_clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase);
void __wrap_clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase);

/* Calls for one object. */
static _Atomic uint32_t counted_object, n_calls;

int __wrap_ioctl(int fd, unsigned long request, void *call)
{
	const struct clv_rm_control *control = call;

	atomic_fetch_add(&n_calls, control->object == atomic_load(&counted_object));
	return 0;
}

static struct clv_slot *slot_of(const struct clv_arbiter_lease *lease)
{
	return &lease->pages.report->slots[0];
}

static enum clv_phase phase_of(const struct clv_arbiter_lease *lease)
{
	return CLV_PHASE_OF(atomic_load(&lease->pages.control->phase));
}

void __wrap_clv_publish_phase(struct clv_arbiter_lease *lease, enum clv_phase phase)
{
	struct clv_arbiter_lease *expected = lease;

	if (phase == CLV_PHASE_CLOSED &&
		atomic_compare_exchange_strong(&late, &expected, NULL))
		atomic_fetch_add(&slot_of(lease)->entered, 1);
	if (phase == CLV_PHASE_CLOSED && lease == atomic_load(&unreported))
		atomic_store(&lease->pages.report->turns[0].n_changes, 5);
	__real_clv_publish_phase(lease, phase);
}

static void ring(const struct clv_arbiter_lease *lease)
{
	assert_int_equal(write(lease->pages.ring_fd, "", 1), 1);
}

static void wait_for_turn(const struct clv_arbiter_lease *lease)
{
	for (int i = 0; i < PATIENCE_MS * 10 && phase_of(lease) == CLV_PHASE_CLOSED; i++)
		usleep(100);
	assert_int_not_equal(phase_of(lease), CLV_PHASE_CLOSED);
}

static void submit(const struct clv_arbiter_lease *lease)
{
	atomic_store(&slot_of(lease)->waiting, 1);
	ring(lease);
	wait_for_turn(lease);
	atomic_fetch_add(&slot_of(lease)->entered, 1);
	atomic_store(&slot_of(lease)->waiting, 0);
}

static void complete(const struct clv_arbiter_lease *lease)
{
	atomic_fetch_add(&slot_of(lease)->done, 1);
	ring(lease);
}

static struct clv_arbiter_lease *add(uint32_t class_of_object)
{
	const struct clv_share share = {.compute_ppm = 500000, .memory_bytes = 1 << 30};
	const struct clv_rm_object object = {
		.client = 1, .parent = 2, .handle = 3, .class = class_of_object};
	struct clv_arbiter_lease *lease;
	struct clv_error err;
	int fd = eventfd(0, 0);
	uint32_t slot;

	assert_int_equal(clv_arbiter_add(arbiter, &share, "", -1, &lease, &err), 0);
	assert_int_equal(
		clv_arbiter_open_slot(arbiter, lease, CLV_SLOTS, &slot, &err), 0);
	if (class_of_object)
		assert_int_equal(
			clv_arbiter_note_object(arbiter, lease, slot, fd, &object, 0), 0);
	close(fd);
	return lease;
}

static void begin(uint32_t class_of_a)
{
	const struct clv_arbiter_config config = {.device_memory_bytes = 1 << 30};
	struct clv_error err;

	assert_int_equal(clv_arbiter_new(&config, &arbiter, &err), 0);
	clv_arbiter_set_method(arbiter, CLV_RM_BY_GROUPS);
	a = add(class_of_a);
	b = add(CLV_RM_CLASS_GROUP);
}

static void end(void)
{
	clv_arbiter_remove(arbiter, a);
	clv_arbiter_remove(arbiter, b);
	clv_arbiter_free(arbiter);
}

/* The lease was idle, and the policy had put it to sleep. */
static void test_work_that_came_late(void **state)
{
	begin(CLV_RM_CLASS_GROUP);
	submit(a);
	submit(b);
	while (phase_of(a) != CLV_PHASE_GRANTED)
		usleep(20);
	atomic_store(&late, a);
	complete(a);
	for (int i = 0; i < PATIENCE_MS && atomic_load(&late); i++)
		usleep(1000);
	assert_null(atomic_load(&late));
	complete(b);
	wait_for_turn(a);
	end();
}

/* Others need not keep the device in their pauses because of what could not be stopped
 * before. */
static void test_stopped_work_is_not_awaited(void **state)
{
	begin(CLV_RM_CLASS_GROUP);
	a->usual_drain_ns = CLV_NS_PER_S;
	submit(a);
	for (int i = 0; i < 30; i++) {
		submit(b);
		complete(b);
		wait_for_turn(a);
	}
	assert_true(a->usual_drain_ns < 10 * CLV_NS_PER_MS);
	complete(a);
	end();
}

static void test_unstoppable_work(void **state)
{
	begin(0);
	submit(a);
	assert_int_equal(atomic_load(&a->pages.control->is_preemptible), 0);
	complete(a);
	submit(b);
	assert_int_not_equal(atomic_load(&b->pages.control->is_preemptible), 0);
	complete(b);
	end();
}

static void count_calls_for(uint32_t object)
{
	atomic_store(&counted_object, object);
	atomic_store(&n_calls, 0);
}

static bool are_calls(void)
{
	for (int i = 0; i < PATIENCE_MS && atomic_load(&n_calls) == 0; i++)
		usleep(1000);
	return atomic_load(&n_calls) > 0;
}

static void note(uint32_t slot, uint32_t handle, uint64_t as_of)
{
	const struct clv_rm_object object = {
		.client = 1, .parent = 2, .handle = handle, .class = CLV_RM_CLASS_GROUP};
	int fd = eventfd(0, 0);

	assert_int_equal(
		clv_arbiter_note_object(arbiter, a, slot, fd, &object, as_of), 0);
	close(fd);
}

/* It has created five objects, and reported one. */
static void test_incomplete_report_is_waited_for(void **state)
{
	begin(CLV_RM_CLASS_GROUP);
	note(0, 33, 0);
	atomic_store(&a->pages.report->turns[0].n_changes, 5);
	submit(a);
	count_calls_for(33);
	atomic_store(&slot_of(b)->waiting, 1);
	ring(b);
	while (phase_of(a) != CLV_PHASE_CLOSED)
		usleep(20);
	usleep(20000);
	assert_int_equal(atomic_load(&n_calls), 0);
	note(0, 34, 5);
	assert_true(are_calls());
	wait_for_turn(b);
	atomic_store(&slot_of(b)->waiting, 0);
	end();
}

static bool comes(const _Atomic uint32_t *word, uint32_t expected)
{
	for (int i = 0; i < PATIENCE_MS && atomic_load(word) != expected; i++)
		usleep(1000);
	return atomic_load(word) == expected;
}

/* Work that is waited for may be waiting for a thread in line, which must not rely on the
 * lease's next turn. */
static void test_awaited_work_is_not_preemptible(void **state)
{
	const _Atomic uint32_t *word;

	begin(CLV_RM_CLASS_GROUP);
	word = &a->pages.control->is_preemptible;
	submit(a);
	assert_int_equal(atomic_load(word), 1);
	atomic_store(&unreported, a);
	atomic_store(&slot_of(b)->waiting, 1);
	ring(b);
	assert_true(comes(word, 0));
	assert_int_equal(phase_of(a), CLV_PHASE_CLOSED);
	atomic_store(&unreported, NULL);
	note(0, 34, 5);
	assert_true(comes(word, 1));
	wait_for_turn(b);
	atomic_store(&slot_of(b)->waiting, 0);
	end();
}

/* Returns the word that says whether a's work is stopped at the end of a turn.  a has the
 * device, which no other lease wants, and has submitted. */
static const _Atomic uint32_t *use_alone(void)
{
	clv_arbiter_close_slot(arbiter, b, 0);
	while (phase_of(a) != CLV_PHASE_OPEN)
		usleep(20);
	atomic_fetch_add(&slot_of(a)->entered, 1);
	assert_int_equal(atomic_load(&a->pages.control->is_preemptible), 0);
	return &a->pages.control->is_preemptible;
}

/* Its turn has no end at which the arbiter would look again. */
static void test_channels_become_known_alone(void **state)
{
	const _Atomic uint32_t *word;

	begin(0);
	word = use_alone();
	note(0, 33, 0);
	assert_true(comes(word, 1));
	clv_arbiter_note_object_lost(arbiter, a, 0);
	assert_true(comes(word, 0));
	complete(a);
	end();
}

/* A thread that computes without an end, like a vendor's thread on a device that is the
 * processor. */
struct worker {
	pthread_t thread;
	_Atomic int32_t tid;
	bool is_deaf;
};

static _Atomic uint32_t is_over;

static void on_halt(int number, siginfo_t *info, void *context)
{
	while (atomic_load(&a->pages.control->is_halted) && !atomic_load(&is_over))
		usleep(500);
}

static void *compute(void *userdata)
{
	struct worker *worker = userdata;
	sigset_t halting;

	sigemptyset(&halting);
	sigaddset(&halting, CLV_ATTACH_HALT_SIGNAL);
	pthread_sigmask(worker->is_deaf ? SIG_BLOCK : SIG_UNBLOCK, &halting, NULL);
	atomic_store(&worker->tid, (int32_t)syscall(SYS_gettid));
	while (!atomic_load(&is_over))
		continue;
	return NULL;
}

static void begin_computing(struct worker *worker)
{
	struct sigaction action = {
		.sa_sigaction = on_halt, .sa_flags = SA_SIGINFO | SA_RESTART};

	begin(0);
	clv_arbiter_set_method(arbiter, CLV_RM_BY_NOTHING);
	clv_arbiter_halt_threads(arbiter, CLV_HALTING_ALWAYS);
	sigaction(CLV_ATTACH_HALT_SIGNAL, &action, NULL);
	atomic_store(&is_over, 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, compute, worker), 0);
}

static void tell_threads(struct worker *worker)
{
	int32_t tid;

	while ((tid = atomic_load(&worker->tid)) == 0)
		usleep(100);
	assert_int_equal(clv_arbiter_note_threads(arbiter, a, 0, getpid(), &tid, 1), 0);
}

static void end_computing(struct worker *worker)
{
	atomic_store(&is_over, 1);
	pthread_join(worker->thread, NULL);
	end();
}

/* They are known to compute only after a while. */
static void test_threads_become_known_alone(void **state)
{
	struct worker worker = {0};
	const _Atomic uint32_t *word;

	begin_computing(&worker);
	word = use_alone();
	tell_threads(&worker);
	for (int i = 0; i < PATIENCE_MS / 100 && !atomic_load(word); i++) {
		clv_arbiter_retry_resume(arbiter);
		usleep(100000);
	}
	assert_int_equal(atomic_load(word), 1);
	complete(a);
	end_computing(&worker);
}

/* a's kernel has no end, and both get their turns. */
static void test_threads_are_stopped(void **state)
{
	struct worker worker = {0};
	struct clv_arbiter_sample sample;

	begin_computing(&worker);
	tell_threads(&worker);
	submit(a);
	for (int i = 0; i < 5; i++) {
		submit(b);
		assert_true(comes(&a->pages.control->is_halted, 1));
		assert_int_equal(phase_of(a), CLV_PHASE_CLOSED);
		complete(b);
		assert_true(comes(&a->pages.control->is_halted, 0));
		wait_for_turn(a);
	}
	clv_arbiter_sample(arbiter, a, &sample);
	assert_true(sample.turns >= 5);
	complete(a);
	end_computing(&worker);
}

/* It blocks the signal, so its work is waited for, and then charged while it runs on. */
static void test_threads_run_on(void **state)
{
	struct worker worker = {.is_deaf = true};
	struct clv_arbiter_sample before, after;

	begin_computing(&worker);
	tell_threads(&worker);
	submit(a);
	submit(b);
	atomic_store(&slot_of(b)->waiting, 1);
	ring(b);
	assert_true(comes(&a->pages.control->is_halted, 1));
	assert_true(comes(&a->pages.control->is_halted, 0));
	clv_arbiter_sample(arbiter, a, &before);
	do {
		usleep(10000);
		clv_arbiter_sample(arbiter, a, &after);
	} while (after.held_ns == before.held_ns);
	complete(a);
	complete(b);
	atomic_store(&slot_of(b)->waiting, 0);
	end_computing(&worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_that_came_late),
		cmocka_unit_test(test_stopped_work_is_not_awaited),
		cmocka_unit_test(test_unstoppable_work),
		cmocka_unit_test(test_incomplete_report_is_waited_for),
		cmocka_unit_test(test_awaited_work_is_not_preemptible),
		cmocka_unit_test(test_channels_become_known_alone),
		cmocka_unit_test(test_threads_become_known_alone),
		cmocka_unit_test(test_threads_are_stopped),
		cmocka_unit_test(test_threads_run_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
