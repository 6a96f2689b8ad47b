/* SPDX-License-Identifier: Apache-2.0 */
/* The heartbeat on virtual clocks: how a gate uses the agent's clock and detects its
 * silence, and how an arbiter detects its own absence. */
#include "arbiter/heartbeat.h"
#include "base/cleanup.h"
#include "gate/attach/heartbeat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arbiter-world.h"

#define MS CLV_NS_PER_MS
#define S CLV_NS_PER_S
#define AGENT_AT_FIRST (5000 * S)

/* The agent's clock, and how far this process's clock is ahead of it. */
static uint64_t agent_ns, ahead_ns;

static int read_virtual(clockid_t clock, struct timespec *ret)
{
	uint64_t now_ns = agent_ns + ahead_ns;

	ret->tv_sec = (time_t)(now_ns / S);
	ret->tv_nsec = (long)(now_ns % S);
	return 0;
}

static struct clv_control_page page;
static struct clv_view view;
static struct clv_heartbeat heartbeat;

static int begin(void **state)
{
	agent_ns = AGENT_AT_FIRST;
	ahead_ns = 0;
	atomic_store(&page.heartbeat_ns, 0);
	view = (struct clv_view){.control = &page};
	heartbeat = (struct clv_heartbeat){0};
	atomic_store(&clv_clock_read, read_virtual);
	return 0;
}

static void beat(void)
{
	atomic_store(&page.heartbeat_ns, agent_ns);
}

static bool look_after(uint64_t ns)
{
	agent_ns += ns;
	return clv_heartbeat_look(&heartbeat, &view);
}

static int64_t error_ns(void)
{
	return (int64_t)(clv_agent_clock_ns(&view) - agent_ns);
}

/* Simulates an attach: the request takes time, and the answer as much. */
static void attach(uint64_t takes_ns)
{
	uint64_t asked_ns = clv_clock_ns();

	agent_ns += takes_ns;
	beat();
	agent_ns += takes_ns;
	clv_heartbeat_set_clock(&view, asked_ns);
}

static void test_same_clock(void **state)
{
	attach(200 * MS);
	assert_int_equal(error_ns(), 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t read_ns = agent_ns;

		/* Any delay is possible between the agent's reading of the clock and its
		 * write. */
		look_after(i * 7919 % 97 * MS);
		if (i % 3 != 0)
			atomic_store(&page.heartbeat_ns, read_ns);
		look_after(i * 104729 % 89 * MS);
		assert_int_equal(error_ns(), 0);
	}
}

static void test_time_namespace(void **state)
{
	static const int64_t shifts_ns[] = {
		1000 * (int64_t)S, -4000 * (int64_t)S, (int64_t)S, -(int64_t)S / 2};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(shifts_ns); i++) {
		begin(NULL);
		ahead_ns = (uint64_t)shifts_ns[i];
		attach(2 * MS);
		/* Behind: the longest time for which the gate stays open too long. */
		assert_in_range(-error_ns(), 0, 4 * MS);
		look_after(0);
		for (unsigned n = 0; n < 20; n++) {
			agent_ns += 8 * MS;
			beat();
			look_after((n % 5 + 1) * MS / 10);
		}
		assert_in_range(-error_ns(), 0, MS / 10);
	}
}

/* setns() at run time, and other jumps of the clock. */
static void test_jumps(void **state)
{
	static const int64_t jumps_ns[] = {300 * (int64_t)S, -700 * (int64_t)S};

	attach(MS);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(jumps_ns); i++) {
		look_after(MS);
		ahead_ns += (uint64_t)jumps_ns[i];
		for (unsigned n = 0; n < 3; n++) {
			agent_ns += CLV_HEARTBEAT_NS;
			beat();
			look_after(MS);
		}
		assert_in_range(-error_ns(), 0, MS);
	}
}

static void test_agent_that_says_not(void **state)
{
	ahead_ns = S;
	clv_heartbeat_set_clock(&view, clv_clock_ns());
	for (unsigned i = 0; i < 100; i++)
		assert_false(look_after(S));
	assert_int_equal(error_ns(), S);
	assert_false(clv_heartbeat_is_silent(&view));
}

static void test_silence(void **state)
{
	uint64_t waited_ns = 0;

	attach(MS);
	look_after(0);
	beat();
	assert_false(look_after(25 * MS));
	while (!look_after(25 * MS))
		waited_ns += 25 * MS;
	assert_true(waited_ns + 25 * MS <= 75 * MS);
	assert_true(clv_heartbeat_is_silent(&view));
	agent_ns += 3 * S;
	assert_true(clv_heartbeat_is_silent(&view));
	beat();
	assert_false(clv_heartbeat_is_silent(&view));
	assert_false(look_after(MS));
	assert_int_equal(error_ns(), 0);
}

/* Where no heartbeat is due, other threads must not take the agent to be stopped. */
static void test_silence_of_one_thread(void **state)
{
	attach(MS);
	look_after(0);
	beat();
	assert_false(look_after(25 * MS));
	agent_ns += S;
	assert_false(clv_heartbeat_has_ended(&heartbeat, &view));
	assert_true(clv_heartbeat_has_ended(&heartbeat, &view));
	assert_false(clv_heartbeat_is_silent(&view));
	assert_true(look_after(0));
	assert_true(clv_heartbeat_is_silent(&view));
}

/* A gate's thread that was delayed for long, or that checks very often. */
static void test_late_and_restless_threads(void **state)
{
	attach(MS);
	look_after(0);
	assert_false(look_after(10 * S));
	beat();
	assert_false(look_after(10 * S));
	for (uint64_t ns = 0; ns < 3 * CLV_HEARTBEAT_NS - MS; ns += MS)
		assert_false(look_after(MS));
	assert_false(clv_heartbeat_is_silent(&view));
}

/* --- The arbiter --- */

/* Both leases always want the device; the holder works to the end of its turn. */
static uint64_t step(struct clv_arbiter_world *device)
{
	for (size_t i = 0; i < 2; i++) {
		struct clv_arbiter_lease *lease = device->leases[i];
		struct clv_slot *slot = &lease->pages.report->slots[0];
		bool is_open = lease->phase != CLV_PHASE_CLOSED;

		atomic_store(&slot->waiting, !is_open);
		atomic_store(&slot->entered, atomic_load(&slot->done) + is_open);
		if (!is_open)
			atomic_store(&slot->done, atomic_load(&slot->entered));
		lease->rung = true;
	}
	return clv_turns_step(&device->arbiter, agent_ns);
}

static void run_for(struct clv_arbiter_world *device, uint64_t ns)
{
	uint64_t end_ns = agent_ns + ns;

	while (agent_ns < end_ns) {
		uint64_t next_ns = step(device);

		assert_true(next_ns <= agent_ns + CLV_HEARTBEAT_NS);
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(
				atomic_load(
					&device->leases[i]->pages.control->heartbeat_ns),
				agent_ns);
		agent_ns = next_ns > agent_ns ? next_ns : agent_ns + MS;
	}
}

static void test_absent_arbiter(void **state)
{
	struct clv_arbiter_world device;
	uint64_t held_ns = 0, overdue = 0;
	int64_t lag_ns;

	clv_arbiter_world_make(&device, agent_ns);
	run_for(&device, S);
	for (int n = 0; n < 5; n++)
		agent_ns += (uint64_t)(n + 1) * S, run_for(&device, S);
	for (size_t i = 0; i < 2; i++) {
		held_ns += device.leases[i]->account.held_ns;
		overdue += device.leases[i]->account.overdue;
		lag_ns = clv_policy_lag_ns(
			device.arbiter.policy, device.leases[i]->policy_lease);
		assert_true(lag_ns > -50 * (int64_t)MS && lag_ns < 50 * (int64_t)MS);
	}
	/* The arbiter was absent for 15 of 21 seconds. */
	assert_in_range(held_ns, 5 * S, 7 * S);
	assert_int_equal(overdue, 0);
	clv_arbiter_world_drop(&device);
}

/* The agent's other thread may detect the absence first. */
static void test_absence_seen_by_sample(void **state)
{
	struct clv_arbiter_world device;
	uint64_t before_ns, after_ns;

	clv_arbiter_world_make(&device, agent_ns);
	run_for(&device, S);
	before_ns = device.leases[0]->account.held_ns + device.leases[1]->account.held_ns;
	agent_ns += 5 * S;
	clv_turns_charge(&device.arbiter, agent_ns);
	after_ns = device.leases[0]->account.held_ns + device.leases[1]->account.held_ns;
	assert_true(after_ns - before_ns <= CLV_HEARTBEAT_NS);
	clv_arbiter_world_drop(&device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_same_clock, begin),
		cmocka_unit_test_setup(test_time_namespace, begin),
		cmocka_unit_test_setup(test_jumps, begin),
		cmocka_unit_test_setup(test_agent_that_says_not, begin),
		cmocka_unit_test_setup(test_silence, begin),
		cmocka_unit_test_setup(test_silence_of_one_thread, begin),
		cmocka_unit_test_setup(test_late_and_restless_threads, begin),
		cmocka_unit_test_setup(test_absent_arbiter, begin),
		cmocka_unit_test_setup(test_absence_seen_by_sample, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
