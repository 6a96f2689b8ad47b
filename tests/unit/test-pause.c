/* SPDX-License-Identifier: Apache-2.0 */
/* A lease that computes with short pauses beside one whose kernels cannot be interrupted,
 * on a virtual clock: what each gets, and for how long the device is idle. */
#include "arbiter/pause.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arbiter-world.h"

#define US CLV_NS_PER_US
#define MS CLV_NS_PER_MS
#define SECONDS 20
/* A gate rings when it has been idle for so long. */
#define GRACE (250 * US)
#define NEVER UINT64_MAX

/* A program with one queue: kernels of one length, then a pause. */
struct program {
	uint64_t kernel_ns, run_ns, pause_ns;
	struct clv_arbiter_lease *lease;
	uint64_t ends_ns;  /* of the kernel that runs; NEVER: none runs */
	uint64_t asks_ns;  /* the end of its pause; NEVER: it does not pause */
	uint64_t rings_ns; /* that it is idle */
	uint64_t left_ns;  /* until its next pause */
	uint64_t computed_ns;
};

static struct clv_arbiter_world world;
static uint64_t now_ns;

static struct clv_slot *slot_of(const struct program *program)
{
	return &program->lease->pages.report->slots[0];
}

static void begin(struct program *program, size_t at, uint32_t weight_ppm)
{
	struct clv_policy_params params = {
		.weight_ppm = weight_ppm, .class = CLV_CLASS_NORMAL};

	program->lease = world.leases[at];
	program->ends_ns = program->rings_ns = NEVER;
	program->asks_ns = now_ns;
	program->left_ns = program->run_ns;
	clv_policy_update(
		world.arbiter.policy, program->lease->policy_lease, &params, now_ns);
}

static void submit(struct program *program)
{
	enum clv_phase phase =
		CLV_PHASE_OF(atomic_load(&program->lease->pages.control->phase));

	if (phase == CLV_PHASE_CLOSED) {
		atomic_store(&slot_of(program)->waiting, 1);
		program->lease->rung = true;
		return;
	}
	atomic_store(&slot_of(program)->waiting, 0);
	atomic_fetch_add(&slot_of(program)->entered, 1);
	atomic_store(&slot_of(program)->busy_since_ns, now_ns);
	program->ends_ns = now_ns + program->kernel_ns;
	program->rings_ns = NEVER;
}

static void complete(struct program *program)
{
	atomic_fetch_add(&slot_of(program)->busy_ns, program->kernel_ns);
	atomic_fetch_add(&slot_of(program)->done, 1);
	program->computed_ns += program->kernel_ns;
	program->ends_ns = NEVER;
	if (program->lease->phase == CLV_PHASE_CLOSED)
		program->lease->rung = true;
	if (program->left_ns > program->kernel_ns) {
		program->left_ns -= program->kernel_ns;
		submit(program);
		return;
	}
	program->left_ns = program->run_ns;
	program->asks_ns = now_ns + program->pause_ns;
	program->rings_ns = now_ns + GRACE;
}

static void act(struct program *program)
{
	if (program->ends_ns == now_ns)
		complete(program);
	if (program->asks_ns == now_ns) {
		program->asks_ns = NEVER;
		submit(program);
	}
	if (program->rings_ns == now_ns) {
		program->rings_ns = NEVER;
		program->lease->rung = true;
	}
	/* A turn has come. */
	if (program->ends_ns == NEVER && program->asks_ns == NEVER && program->run_ns > 0)
		submit(program);
}

static uint64_t next_of(const struct program *program)
{
	uint64_t next_ns = program->ends_ns;

	if (program->asks_ns < next_ns)
		next_ns = program->asks_ns;
	return program->rings_ns < next_ns ? program->rings_ns : next_ns;
}

static void run(struct program *programs[2])
{
	uint64_t end_ns = now_ns + SECONDS * CLV_NS_PER_S;

	while (now_ns < end_ns) {
		uint64_t next_ns;

		for (int i = 0; i < 2; i++)
			act(programs[i]);
		next_ns = clv_turns_step(&world.arbiter, now_ns);
		/* Its thread does not spin. */
		assert_true(next_ns > now_ns);
		for (int i = 0; i < 2; i++)
			act(programs[i]);
		for (int i = 0; i < 2; i++) {
			if (next_of(programs[i]) < next_ns)
				next_ns = next_of(programs[i]);
		}
		now_ns = next_ns;
	}
}

static const struct row {
	const char *name;
	uint64_t run_us, pause_us, kernel_us;
	uint32_t share_percent;
	/* In percent of the time: at least computed for the program that pauses, and at
	 * most idle. */
	double least, idle;
} rows[] = {
	{"a pause of 1 ms each 16 ms", 16000, 1000, 230000, 80, 70, 8},
	{"a pause of 1 ms each 16 ms, half of the device", 16000, 1000, 230000, 50, 43,
		8},
	{"a pause of 3 ms each 16 ms", 16000, 3000, 230000, 80, 62, 18},
	{"a pause of 20 ms each 100 ms", 100000, 20000, 230000, 80, 60, 20},
	{"a pause of 1 ms each 16 ms, kernels of 40 ms", 16000, 1000, 40000, 80, 70, 8},
	{"no pause to speak of", 16000, 20, 230000, 80, 76, 3},
	/* What computes little is not worth the others' time. */
	{"a request of 0.1 ms each 5 ms", 100, 5000, 230000, 80, 0, 2},
	{"a batch of 16 ms each 500 ms", 16000, 500000, 230000, 80, 2, 3},
	/* Short kernels run in the pauses. */
	{"a pause of 1 ms each 16 ms beside short kernels", 16000, 1000, 2000, 80, 70, 2},
};

static void test_pauses(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct program pausing = {
			.kernel_ns = (rows[i].run_us < 400 ? rows[i].run_us : 400) * US,
			.run_ns = rows[i].run_us * US,
			.pause_ns = rows[i].pause_us * US};
		struct program busy = {.kernel_ns = rows[i].kernel_us * US,
			.run_ns = rows[i].kernel_us * US,
			.pause_ns = 50 * US};
		struct program *programs[] = {&pausing, &busy};
		double computed, idle;

		now_ns = 1000 * CLV_NS_PER_S;
		clv_arbiter_world_make(&world, now_ns);
		begin(&pausing, 0, rows[i].share_percent * CLV_PPM / 100);
		begin(&busy, 1, CLV_PPM - rows[i].share_percent * CLV_PPM / 100);
		run(programs);
		computed = (double)pausing.computed_ns / SECONDS / CLV_NS_PER_S * 100;
		idle = 100 - computed -
		       (double)busy.computed_ns / SECONDS / CLV_NS_PER_S * 100;
		print_message("%s: %.1f %% computed, %.1f %% idle\n", rows[i].name,
			computed, idle);
		clv_arbiter_world_drop(&world);
		assert_true(computed >= rows[i].least);
		assert_true(idle <= rows[i].idle);
	}
}

/* No other lease waits for the device in its pauses: they do not use up its cap. */
static void test_a_cap_alone(void **state)
{
	struct program capped = {
		.kernel_ns = 400 * US, .run_ns = 4 * MS, .pause_ns = 3 * MS};
	struct program absent = {
		.asks_ns = NEVER, .ends_ns = NEVER, .rings_ns = NEVER, .left_ns = NEVER};
	struct program *programs[] = {&capped, &absent};
	struct clv_policy_params params = {.weight_ppm = CLV_PPM / 2,
		.cap_ppm = CLV_PPM * 3 / 10,
		.class = CLV_CLASS_NORMAL};
	double computed;

	now_ns = 1000 * CLV_NS_PER_S;
	clv_arbiter_world_make(&world, now_ns);
	begin(&capped, 0, CLV_PPM / 2);
	capped.lease->share.cap_ppm = params.cap_ppm;
	clv_policy_update(
		world.arbiter.policy, capped.lease->policy_lease, &params, now_ns);
	absent.lease = world.leases[1];
	run(programs);
	computed = (double)capped.computed_ns / SECONDS / CLV_NS_PER_S * 100;
	print_message("%.1f %% computed of a cap of 30 %%\n", computed);
	clv_arbiter_world_drop(&world);
	assert_true(computed > 27 && computed < 30.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_a_cap_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
