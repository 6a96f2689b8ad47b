/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of stopping and resuming a lease, for all reports of its processes: in steps
 * (basic blocks) and in driver calls, during which the arbiter serves no other lease.
 * Also: whose work the arbiter waits for, because not all of its channels are known. */
#include "arbiter/absence.h"
#include "arbiter/heartbeat.h"
#include "arbiter/preempt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "rm/abi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "arbiter-world.h"

#define CHANNEL 0xc86fu
/* A few hundred microseconds at most. */
#define STEPS_MAX 1000000u

static uint64_t n_steps;
static unsigned n_calls;
static struct clv_arbiter_world device;
static struct clv_arbiter_lease *lease;

/* A clock that only driver calls advance, each by call_ns; 0: the machine's clock. */
static uint64_t virtual_ns, call_ns, longest_silence_ns;
/* The agent is stopped for stop_ns in the call of this number; 0: in none. */
static unsigned stop_in_call;
static uint64_t stop_ns;

static int read_virtual(clockid_t clock, struct timespec *ret)
{
	ret->tv_sec = (time_t)(virtual_ns / CLV_NS_PER_S);
	ret->tv_nsec = (long)(virtual_ns % CLV_NS_PER_S);
	return 0;
}

static void pass_a_call(void)
{
	uint64_t silence_ns;

	if (call_ns == 0)
		return;
	virtual_ns += call_ns;
	if (n_calls == stop_in_call)
		virtual_ns += stop_ns;
	silence_ns =
		virtual_ns - atomic_load(&device.leases[1]->pages.control->heartbeat_ns);
	if (silence_ns > longest_silence_ns)
		longest_silence_ns = silence_ns;
}

/* Called by the compiler's instrumentation. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	n_steps++;
}

/* NVOS54_PARAMETERS */
struct call {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

int __wrap_ioctl(int fd, unsigned long request, struct call *call);
int __wrap_ioctl(int fd, unsigned long request, struct call *call)
{
	call->status = 0;
	n_calls++;
	pass_a_call();
	return 0;
}

static int begin(void **state)
{
	clv_arbiter_world_make(&device, 0);
	device.arbiter.method = CLV_RM_BY_CHANNELS;
	lease = device.leases[0];
	return 0;
}

static int end(void **state)
{
	clv_preempt_forget_all(lease);
	assert_int_equal(lease->n_objects, 0);
	clv_arbiter_world_drop(&device);
	return 0;
}

static int note(uint32_t slot, uint32_t parent, uint32_t handle, uint32_t class)
{
	const struct clv_rm_object object = {
		.client = 1, .parent = parent, .handle = handle, .class = class};

	return clv_preempt_note(&device.arbiter, lease, slot, STDOUT_FILENO, &object, 0);
}

/* A busy process with a group of n channels on its GPU. */
static void add_process(uint32_t slot, uint32_t n_channels)
{
	uint32_t got;

	if (slot > 0) {
		assert_int_equal(
			clv_arbiter_open_slot(&device.arbiter, lease, slot, &got, NULL),
			0);
		assert_int_equal(got, slot);
	}
	assert_int_equal(note(slot, 10, 11, CLV_RM_CLASS_SUBDEVICE), 0);
	assert_int_equal(note(slot, 10, 12, CLV_RM_CLASS_GROUP), 0);
	for (uint32_t i = 0; i < n_channels; i++)
		assert_int_equal(note(slot, 12, 100 + i, CHANNEL), 0);
	atomic_store(&lease->pages.report->slots[slot].entered, 1);
}

/* Stops and resumes. */
static bool switch_both_ways(void)
{
	bool is_off;

	n_calls = 0;
	n_steps = 0;
	is_off = clv_preempt_stop(&device.arbiter, lease);
	clv_preempt_resume(&device.arbiter, lease);
	assert_in_range(n_steps, 1, STEPS_MAX);
	assert_in_range(n_calls, 0, 2 * CLV_PREEMPT_CALLS_MAX);
	return is_off;
}

/* The number of objects that the process has, and the number that are known. */
static void tell(uint32_t slot, uint64_t n_changes, uint64_t as_of)
{
	const struct clv_rm_object nothing = {0};

	atomic_store(&lease->pages.report->turns[slot].n_changes, n_changes);
	if (as_of == 0)
		return;
	assert_int_equal(clv_preempt_note(&device.arbiter, lease, slot, STDOUT_FILENO,
				 &nothing, as_of),
		0);
}

static void check_known(enum clv_preempt_knowledge expected, uint32_t expected_slot)
{
	uint32_t slot;

	assert_int_equal(clv_preempt_known(&device.arbiter, lease, &slot), expected);
	assert_int_equal(slot, expected_slot);
	assert_int_equal(clv_preempt_may_stop_next_turn(&device.arbiter, lease),
		expected == CLV_KNOWN_ALL);
	assert_int_equal(switch_both_ways(), expected == CLV_KNOWN_ALL);
}

static void test_one_process_with_all_it_may_have(void **state)
{
	add_process(0, 4094);
	assert_true(switch_both_ways());
	assert_int_equal(n_calls, 2 * 64);
	assert_int_equal(note(0, 12, 5000, CHANNEL), -E2BIG);
	assert_false(switch_both_ways());
	assert_int_equal(n_calls, 0);
}

static void test_all_that_a_lease_may_have(void **state)
{
	for (uint32_t slot = 0; slot < 4; slot++)
		add_process(slot, 4094);
	assert_true(switch_both_ways());
	assert_int_equal(note(3, 10, 11, 0), 0);
	assert_int_equal(note(3, 10, 11, CLV_RM_CLASS_SUBDEVICE), 0);
	assert_int_equal(
		clv_arbiter_open_slot(&device.arbiter, lease, 4, &(uint32_t){0}, NULL),
		0);
	assert_int_equal(note(4, 10, 11, CLV_RM_CLASS_SUBDEVICE), -E2BIG);
}

static void test_many_processes(void **state)
{
	for (uint32_t slot = 0; slot < 500; slot++)
		add_process(slot, 3);
	assert_true(switch_both_ways());
	assert_int_equal(n_calls, 2 * 500);
}

/* Then the arbiter waits for the work. */
static void test_too_many_processes(void **state)
{
	for (uint32_t slot = 0; slot < CLV_SLOTS; slot++)
		add_process(slot, 3);
	assert_false(switch_both_ways());
	assert_int_equal(n_calls, 0);
	check_known(CLV_KNOWN_TOO_LONG, CLV_SLOTS - 1);
}

/* Until the process has reported all objects, and for good once a report was lost. */
static void test_incomplete_report(void **state)
{
	add_process(0, 3);
	add_process(1, 3);
	check_known(CLV_KNOWN_ALL, 1);
	tell(0, 5, 5);
	tell(1, 7, 0);
	check_known(CLV_KNOWN_NOT_YET, 1);
	tell(1, 8, 7);
	check_known(CLV_KNOWN_NOT_YET, 1);
	tell(1, 8, 8);
	check_known(CLV_KNOWN_ALL, 1);
	tell(0, UINT64_MAX, 0);
	check_known(CLV_KNOWN_TOO_MANY, 0);
	tell(0, 6, 6);
	check_known(CLV_KNOWN_ALL, 1);
	clv_preempt_note_lost(lease, 1);
	check_known(CLV_KNOWN_TOO_MANY, 1);
	tell(1, 9, 9);
	check_known(CLV_KNOWN_TOO_MANY, 1);
}

/* An idle process has no work to wait for. */
static void test_incomplete_report_of_an_idle_process(void **state)
{
	add_process(0, 3);
	add_process(1, 3);
	tell(1, 9, 8);
	assert_false(switch_both_ways());
	atomic_store(&lease->pages.report->slots[1].done, 1);
	assert_true(switch_both_ways());
}

/* As when a stopped lease rings. */
static bool verify(uint64_t now_ns)
{
	n_calls = 0;
	lease->rung = true;
	return clv_preempt_verify(&device.arbiter, lease, now_ns);
}

/* It was idle when the others were stopped, and then submits past the gate. */
static void test_process_begins_while_others_are_stopped(void **state)
{
	uint64_t now_ns = clv_clock_ns();
	uint32_t got;

	add_process(0, 3);
	add_process(1, 3);
	atomic_store(&lease->pages.report->slots[1].done, 1);
	assert_true(clv_preempt_stop(&device.arbiter, lease));
	assert_true(verify(now_ns));
	assert_int_equal(n_calls, 0);
	atomic_store(&lease->pages.report->slots[1].entered, 2);
	assert_true(verify(now_ns));
	assert_int_equal(n_calls, 1);
	assert_true(verify(now_ns));
	assert_int_equal(n_calls, 0);
	/* This process has reported nothing. */
	assert_int_equal(clv_arbiter_open_slot(&device.arbiter, lease, 2, &got, NULL), 0);
	atomic_store(&lease->pages.report->slots[2].entered, 1);
	assert_false(verify(now_ns));
	clv_preempt_resume(&device.arbiter, lease);
}

/* Channels created while the process is stopped are reported soon; otherwise they run. */
static void test_process_creates_channels_while_stopped(void **state)
{
	uint64_t now_ns = clv_clock_ns();

	add_process(0, 3);
	tell(0, 5, 5);
	assert_true(clv_preempt_stop(&device.arbiter, lease));
	tell(0, 6, 0);
	assert_true(verify(now_ns));
	tell(0, 6, 6);
	assert_true(verify(now_ns + CLV_NS_PER_S));
	tell(0, 7, 0);
	assert_true(verify(now_ns + 2 * CLV_NS_PER_S));
	assert_false(verify(now_ns + 3 * CLV_NS_PER_S));
	tell(0, 7, 7);
	assert_true(verify(now_ns + 3 * CLV_NS_PER_S));
	clv_preempt_note_lost(lease, 0);
	assert_false(verify(now_ns + 3 * CLV_NS_PER_S));
	clv_preempt_resume(&device.arbiter, lease);
}

static void put_back(uint32_t slot)
{
	const struct clv_rm_object nothing = {0};

	assert_int_equal(clv_preempt_note(&device.arbiter, lease, slot, STDOUT_FILENO,
				 &nothing, 0),
		0);
}

/* A gate that saw no heartbeat.  However often it says so, the agent takes its channels
 * off again once per interval of the verification, and only while the lease is off. */
static void test_process_put_its_channels_back(void **state)
{
	uint64_t now_ns = clv_clock_ns();

	add_process(0, 3);
	add_process(1, 3);
	put_back(0);
	assert_true(clv_preempt_stop(&device.arbiter, lease));
	assert_true(verify(now_ns + CLV_NS_PER_S));
	assert_int_equal(n_calls, 0);
	put_back(1);
	assert_true(verify(now_ns));
	assert_int_equal(n_calls, 0);
	assert_true(verify(now_ns + CLV_NS_PER_S));
	assert_int_equal(n_calls, 1);
	assert_true(verify(now_ns + CLV_NS_PER_S));
	assert_int_equal(n_calls, 0);
	put_back(1);
	assert_true(verify(now_ns));
	assert_int_equal(n_calls, 0);
	clv_preempt_resume(&device.arbiter, lease);
	assert_true(clv_preempt_stop(&device.arbiter, lease));
	assert_true(verify(now_ns + 2 * CLV_NS_PER_S));
	assert_int_equal(n_calls, 0);
	clv_preempt_resume(&device.arbiter, lease);
}

static void test_the_seventeenth_client(void **state)
{
	add_process(0, 3);
	for (uint32_t client = 2; client <= 17; client++) {
		const struct clv_rm_object object = {.client = client,
			.parent = 10,
			.handle = 1000,
			.class = CLV_RM_CLASS_GROUP};

		assert_int_equal(switch_both_ways(), true);
		assert_int_equal(clv_preempt_note(&device.arbiter, lease, 0,
					 STDOUT_FILENO, &object, 0),
			client < 17 ? 0 : -E2BIG);
	}
	check_known(CLV_KNOWN_TOO_MANY, 0);
}

static void test_too_many_groups(void **state)
{
	device.arbiter.method = CLV_RM_BY_GROUPS;
	add_process(0, 3);
	for (uint32_t i = 1; i < CLV_PREEMPT_CALLS_MAX / 2; i++)
		assert_int_equal(note(0, 10, 1000 + i, CLV_RM_CLASS_GROUP), 0);
	assert_true(switch_both_ways());
	assert_int_equal(note(0, 10, 1000, CLV_RM_CLASS_GROUP), 0);
	assert_false(switch_both_ways());
	assert_int_equal(n_calls, 0);
}

static clv_vdso_clock_fn real_clock;

/* From now on each call takes call_ns on the virtual clock. */
static void begin_virtual(uint64_t ns)
{
	real_clock = atomic_exchange(&clv_clock_read, read_virtual);
	virtual_ns = CLV_NS_PER_S;
	call_ns = ns;
	n_calls = 0;
}

static void end_virtual(void)
{
	atomic_store(&clv_clock_read, real_clock);
	call_ns = 0;
	stop_in_call = 0;
}

/* Switches both ways in as many calls as are allowed.  Returns to when a charge of up to
 * CLV_NS_PER_S moves. */
static uint64_t charged_until_after_switches(void)
{
	device.arbiter.method = CLV_RM_BY_GROUPS;
	add_process(0, 3);
	for (uint32_t i = 1; i < CLV_PREEMPT_CALLS_MAX / 2; i++)
		assert_int_equal(note(0, 10, 1000 + i, CLV_RM_CLASS_GROUP), 0);
	begin_virtual(400000);
	longest_silence_ns = 0;
	clv_heartbeat_publish(&device.arbiter, virtual_ns);
	device.arbiter.due_ns = virtual_ns + CLV_HEARTBEAT_NS;
	lease->charged_until_ns = virtual_ns;
	device.arbiter.is_stepping = true;
	assert_true(switch_both_ways());
	device.arbiter.is_stepping = false;
	clv_absence_note(&device.arbiter, virtual_ns);
	assert_true(virtual_ns > CLV_NS_PER_S + 10 * CLV_HEARTBEAT_NS);
	end_virtual();
	return lease->charged_until_ns;
}

/* A driver that takes 400 us for a call: gates take an agent that is silent for 48 ms to
 * be stopped, and the arbiter counts that time as its absence. */
static void test_heartbeat_of_long_switches(void **state)
{
	assert_int_equal(charged_until_after_switches(), CLV_NS_PER_S);
	assert_in_range(longest_silence_ns, 1, CLV_HEARTBEAT_NS + 2 * 400000);
}

/* The agent is stopped in a call: the gates have opened, and nothing is charged. */
static void test_absence_in_a_call(void **state)
{
	uint64_t shifted_ns;

	stop_in_call = 100;
	stop_ns = 2 * CLV_NS_PER_S;
	shifted_ns = charged_until_after_switches() - CLV_NS_PER_S;
	assert_in_range(shifted_ns, stop_ns - CLV_HEARTBEAT_NS, stop_ns + 400000);
}

/* On an idle device no step is due, and the last heartbeat is of an hour ago: what the
 * driver is asked then, such as by an agent that puts work back again, is no absence. */
static void test_no_absence_between_steps(void **state)
{
	device.arbiter.method = CLV_RM_BY_GROUPS;
	add_process(0, 3);
	begin_virtual(1000);
	clv_heartbeat_publish(&device.arbiter, virtual_ns);
	device.arbiter.due_ns = UINT64_MAX;
	lease->charged_until_ns = lease->stray_since_ns = virtual_ns;
	virtual_ns += 3600 * CLV_NS_PER_S;
	assert_true(switch_both_ways());
	assert_true(n_calls > 0);
	clv_absence_note(&device.arbiter, virtual_ns);
	end_virtual();
	assert_int_equal(lease->charged_until_ns, CLV_NS_PER_S);
	assert_int_equal(lease->stray_since_ns, CLV_NS_PER_S);
}

/* A step is due a millisecond after the last one.  The gates open 48 ms after that. */
static void test_absence_since_an_early_step(void **state)
{
	const uint64_t began_ns = CLV_NS_PER_S;

	clv_heartbeat_publish(&device.arbiter, began_ns);
	device.arbiter.due_ns = began_ns + CLV_NS_PER_MS;
	lease->charged_until_ns = began_ns;
	clv_absence_note(&device.arbiter, began_ns + 47 * CLV_NS_PER_MS);
	assert_int_equal(lease->charged_until_ns, began_ns);
	clv_absence_note(&device.arbiter, began_ns + 49 * CLV_NS_PER_MS);
	assert_int_equal(lease->charged_until_ns, began_ns + 48 * CLV_NS_PER_MS);
}

static void test_no_absence_before_the_first_step(void **state)
{
	lease->charged_until_ns = 1;
	clv_absence_note(&device.arbiter, CLV_NS_PER_S);
	assert_int_equal(lease->charged_until_ns, 1);
}

static struct clv_arbiter_lease *next_lease;

static void wait_in_line(struct clv_arbiter_lease *of)
{
	atomic_store(&of->pages.report->slots[0].waiting, 1);
	of->rung = true;
	clv_turns_step(&device.arbiter, virtual_ns);
}

/* The processes of lease work for its turn, and then the turn of next_lease begins: with
 * the call that this takes of each process of lease. */
static void hand_over(uint32_t n_processes)
{
	next_lease = device.leases[1];
	begin_virtual(640000);
	wait_in_line(lease);
	for (uint32_t slot = 0; slot < n_processes; slot++)
		add_process(slot, 3);
	atomic_store(&lease->pages.report->slots[0].waiting, 0);
	wait_in_line(next_lease);
	while (device.arbiter.holder == lease) {
		virtual_ns += CLV_NS_PER_MS;
		clv_turns_step(&device.arbiter, virtual_ns);
	}
	assert_ptr_equal(device.arbiter.holder, next_lease);
	assert_true(lease->is_stopped);
	assert_int_equal(n_calls, n_processes);
	atomic_store(&next_lease->pages.report->slots[0].waiting, 0);
	atomic_store(&next_lease->pages.report->slots[0].entered, 1);
}

/* What lease and next_lease are charged from the beginning of the hand-over until ns
 * after it. */
static void check_charges(
	uint64_t ns, uint64_t turn_ns, uint64_t of_lease_ns, uint64_t of_next_ns)
{
	virtual_ns += ns;
	clv_turns_charge(&device.arbiter, virtual_ns);
	assert_in_range(lease->account.held_ns, turn_ns + of_lease_ns - 1000,
		turn_ns + of_lease_ns + 1000);
	/* Less the hand-over. */
	assert_in_range(
		next_lease->account.held_ns, of_next_ns - of_next_ns / 32, of_next_ns);
	end_virtual();
}

/* A lease with many processes pays for the calls that stop them, beyond a millisecond. */
static void test_long_stop_is_charged(void **state)
{
	hand_over(30);
	check_charges(4 * CLV_NS_PER_MS, next_lease->turn_started_ns - CLV_NS_PER_S,
		30 * 640000 - CLV_NS_PER_MS, 4 * CLV_NS_PER_MS);
}

/* How long the work of lease is off in ns of the virtual clock, both leases having work
 * all the time. */
static uint64_t off_in(uint64_t ns)
{
	uint64_t end_ns = virtual_ns + ns, off_ns = 0;

	while (virtual_ns < end_ns) {
		uint64_t next_ns = clv_turns_step(&device.arbiter, virtual_ns);

		next_ns = next_ns > virtual_ns ? next_ns : virtual_ns + CLV_NS_PER_US;
		off_ns += lease->is_stopped ? next_ns - virtual_ns : 0;
		virtual_ns = next_ns;
	}
	return off_ns;
}

/* The other lease has half of the device, in which it is alone there: less what is free,
 * a millisecond in 54. */
static void test_share_beside_many_processes(void **state)
{
	static const struct clv_rm_object objects[] = {
		{.client = 1,
			.parent = 10,
			.handle = 11,
			.class = CLV_RM_CLASS_SUBDEVICE},
		{.client = 1, .parent = 10, .handle = 12, .class = CLV_RM_CLASS_GROUP},
		{.client = 1, .parent = 12, .handle = 100, .class = CHANNEL}};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(objects); i++)
		assert_int_equal(clv_preempt_note(&device.arbiter, device.leases[1], 0,
					 STDOUT_FILENO, &objects[i], 0),
			0);
	hand_over(30);
	assert_in_range(
		off_in(20 * CLV_NS_PER_S), 9500 * CLV_NS_PER_MS, 10100 * CLV_NS_PER_MS);
	end_virtual();
	clv_preempt_forget_all(device.leases[1]);
}

/* All its processes say that they have put back their channels. */
static void test_long_verification_is_charged(void **state)
{
	uint64_t held_ns, of_next_ns;

	hand_over(30);
	clv_turns_charge(&device.arbiter, virtual_ns);
	held_ns = lease->account.held_ns;
	of_next_ns = next_lease->account.held_ns;
	for (uint32_t slot = 0; slot < 30; slot++)
		put_back(slot);
	virtual_ns += 16 * CLV_NS_PER_MS;
	n_calls = 0;
	lease->rung = true;
	clv_turns_step(&device.arbiter, virtual_ns);
	assert_int_equal(n_calls, 30);
	clv_turns_charge(&device.arbiter, virtual_ns);
	assert_int_equal(lease->account.held_ns - held_ns, 30 * 640000 - CLV_NS_PER_MS);
	assert_in_range(next_lease->account.held_ns - of_next_ns, 15 * CLV_NS_PER_MS,
		16 * CLV_NS_PER_MS);
	end_virtual();
}

/* And that begin to work without a turn. */
static void test_long_stop_of_a_stray_is_charged(void **state)
{
	uint64_t held_ns;

	next_lease = device.leases[1];
	begin_virtual(640000);
	wait_in_line(next_lease);
	for (uint32_t slot = 0; slot < 30; slot++)
		add_process(slot, 3);
	lease->rung = true;
	virtual_ns += CLV_NS_PER_MS;
	clv_turns_step(&device.arbiter, virtual_ns);
	assert_true(lease->is_stopped);
	held_ns = next_lease->account.held_ns;
	clv_turns_charge(&device.arbiter, virtual_ns);
	assert_in_range(lease->account.held_ns, 30 * 640000 - CLV_NS_PER_MS, 30 * 640000);
	assert_int_equal(next_lease->account.held_ns, held_ns);
	end_virtual();
}

/* No lease pays for a call of usual length. */
static void test_short_stop_is_free(void **state)
{
	hand_over(1);
	check_charges(4 * CLV_NS_PER_MS, next_lease->turn_started_ns - CLV_NS_PER_S, 0,
		4 * CLV_NS_PER_MS);
}

/* Nor for a stop of the agent in such a call. */
static void test_absence_in_a_hand_over(void **state)
{
	stop_in_call = 1;
	stop_ns = 5 * CLV_NS_PER_S;
	hand_over(1);
	/* A heartbeat was due after 16 ms. */
	check_charges(4 * CLV_NS_PER_MS, next_lease->turn_started_ns - CLV_NS_PER_S,
		CLV_HEARTBEAT_NS - CLV_NS_PER_MS, 4 * CLV_NS_PER_MS);
}

/* While the lease is stopped, only new channels are stopped. */
static void test_new_channels_while_stopped(void **state)
{
	add_process(0, 2000);
	assert_true(clv_preempt_stop(&device.arbiter, lease));
	n_calls = 0;
	n_steps = 0;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(note(0, 12, 5000 + i, CHANNEL), 0);
	assert_int_equal(n_calls, 1000);
	assert_in_range(n_steps, 1000, 1000 * 1000);
	clv_preempt_resume(&device.arbiter, lease);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_one_process_with_all_it_may_have, begin, end),
		cmocka_unit_test_setup_teardown(
			test_all_that_a_lease_may_have, begin, end),
		cmocka_unit_test_setup_teardown(test_many_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_too_many_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_too_many_groups, begin, end),
		cmocka_unit_test_setup_teardown(
			test_heartbeat_of_long_switches, begin, end),
		cmocka_unit_test_setup_teardown(test_absence_in_a_call, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_absence_between_steps, begin, end),
		cmocka_unit_test_setup_teardown(
			test_absence_since_an_early_step, begin, end),
		cmocka_unit_test_setup_teardown(
			test_no_absence_before_the_first_step, begin, end),
		cmocka_unit_test_setup_teardown(test_long_stop_is_charged, begin, end),
		cmocka_unit_test_setup_teardown(
			test_share_beside_many_processes, begin, end),
		cmocka_unit_test_setup_teardown(
			test_long_verification_is_charged, begin, end),
		cmocka_unit_test_setup_teardown(
			test_long_stop_of_a_stray_is_charged, begin, end),
		cmocka_unit_test_setup_teardown(test_short_stop_is_free, begin, end),
		cmocka_unit_test_setup_teardown(test_absence_in_a_hand_over, begin, end),
		cmocka_unit_test_setup_teardown(test_incomplete_report, begin, end),
		cmocka_unit_test_setup_teardown(
			test_incomplete_report_of_an_idle_process, begin, end),
		cmocka_unit_test_setup_teardown(
			test_process_begins_while_others_are_stopped, begin, end),
		cmocka_unit_test_setup_teardown(
			test_process_creates_channels_while_stopped, begin, end),
		cmocka_unit_test_setup_teardown(
			test_process_put_its_channels_back, begin, end),
		cmocka_unit_test_setup_teardown(test_the_seventeenth_client, begin, end),
		cmocka_unit_test_setup_teardown(
			test_new_channels_while_stopped, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
