/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's common part and the arbiter, both real, in one program: four gates on three
 * leases submit and allocate as fast as they can; one of them waits for each of its
 * commands. Asserted: a lease is let in when the last one's work is almost complete, the
 * quota holds, all gates finish, and the shares are correct (not under a race detector,
 * which is too slow to keep time). OpenCL and attaching are not part of it.
 *
 * usage: stress [MILLISECONDS [races]] */
#include "instance.h"

#include "base/clock.h"
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_MS 300
/* Far longer than the time that a lease is let in before the last one's end. */
#define COMMAND_NS (2 * CLV_NS_PER_MS)
#define QUOTA UINT64_C(1000)
#define MOST_POINTS 5.0
/* Other load on the machine delays tenants for a while; the shares are correct in a
 * window without it. */
#define WINDOWS_MOST 8
/* At most one turn in this many begins too early: where a thread of the last lease is
 * preempted between the gate and the device, and so reaches the device later than it
 * reported. */
#define TRESPASS_PART 4

_Atomic uint32_t on_device[N_LEASES];
_Atomic uint64_t n_trespasses, device_busy_ns;

static const struct instance *const instances[N_INSTANCES] = {
	&instance_0, &instance_1, &instance_2, &instance_3};
static const uint32_t lease_of[N_INSTANCES] = {0, 0, 1, 2};
static const uint32_t share_ppm[N_LEASES] = {200000, 500000, 300000};

static struct clv_arbiter_lease *leases[N_LEASES];
static _Atomic uint64_t allocated[N_LEASES], n_over_quota, n_granted,
	n_commands[N_LEASES];
static atomic_bool stopping;
static bool with_races;

static struct {
	pthread_mutex_t lock;
	uint64_t free_ns;
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t device_take(uint64_t duration_ns, uint64_t *ret_left_ns)
{
	uint64_t now_ns = clv_clock_ns(), complete_ns;

	pthread_mutex_lock(&device.lock);
	if (device.free_ns < now_ns)
		device.free_ns = now_ns;
	*ret_left_ns = device.free_ns - now_ns;
	device.free_ns += duration_ns;
	complete_ns = device.free_ns;
	pthread_mutex_unlock(&device.lock);
	atomic_fetch_add(&device_busy_ns, duration_ns);
	return complete_ns;
}

void device_sleep_until(uint64_t time_ns)
{
	struct timespec until = {
		(time_t)(time_ns / CLV_NS_PER_S), (long)(time_ns % CLV_NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static void allocate(uint32_t instance, unsigned int *seed)
{
	uint32_t lease = lease_of[instance];
	uint64_t n_bytes = 100 + (uint64_t)rand_r(seed) % 600;

	if (!instances[instance]->charge(n_bytes))
		return;
	atomic_fetch_add(&n_granted, 1);
	if (atomic_fetch_add(&allocated[lease], n_bytes) + n_bytes > QUOTA)
		atomic_fetch_add(&n_over_quota, 1);
	sched_yield();
	atomic_fetch_sub(&allocated[lease], n_bytes);
	instances[instance]->release(n_bytes);
}

/* Two threads an instance, so that gates are also raced from inside. */
static void *work(void *userdata)
{
	uint32_t instance = (uint32_t)(uintptr_t)userdata % N_INSTANCES;
	unsigned int seed = (unsigned int)(uintptr_t)userdata;

	while (!atomic_load(&stopping)) {
		instances[instance]->submit(COMMAND_NS);
		atomic_fetch_add(&n_commands[lease_of[instance]], 1);
		if (instance == 2)
			instances[instance]->finish();
		allocate(instance, &seed);
		/* A lost wake-up shows when threads sleep and wake. */
		if (with_races && rand_r(&seed) % 16 == 0)
			device_sleep_until(clv_clock_ns() + 1 +
					   (uint64_t)rand_r(&seed) % CLV_NS_PER_MS);
	}
	instances[instance]->finish();
	return NULL;
}

static int make_leases(struct clv_arbiter *arbiter)
{
	for (uint32_t i = 0; i < N_LEASES; i++) {
		struct clv_share share = {.compute_ppm = share_ppm[i],
			.memory_bytes = QUOTA,
			.class = CLV_CLASS_NORMAL};

		if (clv_arbiter_add(arbiter, &share, "", -1, &leases[i], NULL) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < N_INSTANCES; i++) {
		uint32_t slot;

		if (clv_arbiter_open_slot(
			    arbiter, leases[lease_of[i]], UINT32_MAX, &slot, NULL) < 0)
			return -1;
		instances[i]->attach(leases[lease_of[i]], lease_of[i], slot);
	}
	return 0;
}

static void take_sample(struct clv_arbiter *arbiter, struct clv_arbiter_sample *ret)
{
	for (uint32_t i = 0; i < N_LEASES; i++)
		clv_arbiter_sample(arbiter, leases[i], &ret[i]);
}

static int fail(const char *what)
{
	printf("FAILED: %s\n", what);
	return 1;
}

static bool came_out(const struct clv_arbiter_sample *before,
	const struct clv_arbiter_sample *after, uint64_t busy_ns, uint64_t elapsed_ns)
{
	uint64_t held_ns[N_LEASES], sum_ns = 0, n_turns = 0;
	bool did = true;

	for (uint32_t i = 0; i < N_LEASES; i++) {
		held_ns[i] = after[i].held_ns - before[i].held_ns;
		n_turns += after[i].turns - before[i].turns;
		sum_ns += held_ns[i];
	}
	for (uint32_t i = 0; i < N_LEASES; i++) {
		double got = 100.0 * (double)held_ns[i] / (double)(sum_ns ? sum_ns : 1);
		double promised = share_ppm[i] / 1e4;

		printf("lease %u: promised %.1f %%, held %.1f %%\n", i, promised, got);
		did = did && got >= promised - MOST_POINTS &&
		      got <= promised + MOST_POINTS;
	}
	printf("device busy %.1f %% of the time, %lu turns\n",
		100.0 * (double)busy_ns / (double)elapsed_ns, (unsigned long)n_turns);
	return did;
}

static bool measure(struct clv_arbiter *arbiter, uint64_t run_ms)
{
	struct clv_arbiter_sample before[N_LEASES], after[N_LEASES];
	uint64_t began_ns = clv_clock_ns(), busy_ns = atomic_load(&device_busy_ns);

	take_sample(arbiter, before);
	device_sleep_until(began_ns + run_ms * CLV_NS_PER_MS);
	take_sample(arbiter, after);
	return came_out(before, after, atomic_load(&device_busy_ns) - busy_ns,
		clv_clock_ns() - began_ns);
}

static int check_shares(struct clv_arbiter *arbiter, uint64_t run_ms)
{
	for (int i = 0; i < WINDOWS_MOST; i++) {
		if (measure(arbiter, run_ms) || with_races)
			return 0;
	}
	return fail("a share is off by more than 5 points, in every window");
}

static int report(const struct clv_arbiter_sample *samples)
{
	uint64_t n_turns = 0;
	int failed = 0;

	for (uint32_t i = 0; i < N_LEASES; i++) {
		n_turns += samples[i].turns;
		printf("lease %u: %lu commands, %lu drains overdue\n", i,
			(unsigned long)atomic_load(&n_commands[i]),
			(unsigned long)samples[i].overdue);
		if (atomic_load(&n_commands[i]) == 0)
			failed |= fail("a lease was never let in");
		if (samples[i].overdue > 0 && !with_races)
			failed |= fail("a drain ran into the time-out");
	}
	printf("%lu of %lu turns began long before the last one's work was complete\n",
		(unsigned long)atomic_load(&n_trespasses), (unsigned long)n_turns);
	if (atomic_load(&n_trespasses) * TRESPASS_PART > n_turns)
		failed |= fail("leases were let in long before the last one's end");
	if (atomic_load(&n_over_quota) > 0)
		failed |= fail("the quota was exceeded");
	if (atomic_load(&n_granted) == 0)
		failed |= fail("no allocation was ever granted");
	return failed;
}

int main(int argc, char **argv)
{
	uint64_t run_ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	struct clv_arbiter_config config = {.device_memory_bytes = QUOTA * N_LEASES};
	struct clv_arbiter_sample after[N_LEASES];
	pthread_t threads[2 * N_INSTANCES];
	struct clv_arbiter *arbiter;
	int failed = 0;

	with_races = argc > 2 && strcmp(argv[2], "races") == 0;
	if (clv_arbiter_new(&config, &arbiter, NULL) < 0 || make_leases(arbiter) < 0)
		return fail("cannot make the arbiter");
	for (uintptr_t i = 0; i < 2 * N_INSTANCES; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return fail("cannot start a thread");

	device_sleep_until(clv_clock_ns() + WARM_UP_MS * CLV_NS_PER_MS);
	failed |= check_shares(arbiter, run_ms);

	atomic_store(&stopping, true);
	for (uint32_t i = 0; i < 2 * N_INSTANCES; i++)
		pthread_join(threads[i], NULL);
	take_sample(arbiter, after);
	failed |= report(after);
	/* The helpers live as long as their process, so the arbiter is not ended. */
	return failed;
}
