/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of recording a process's channels and of switching them, in steps (basic
 * blocks) of src/rm, which is compiled to count them: a tenant reports its channels, and
 * while they are switched the agent serves no other lease. */
#include "rm/abi.h"
#include "rm/channels.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FD 77
#define CHANNEL 0xc86fu
#define FEW 500u
#define MANY 4000u
/* For one object on average, including the sanitizers' steps: excludes a search through
 * the others. */
#define NOTE_STEPS 1000u
#define SWITCH_STEPS 100u

static uint64_t n_steps;
static unsigned n_calls;

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
	assert_int_equal(fd, FD);
	call->status = 0;
	n_calls++;
	return 0;
}

/* The objects that a tenant reports, by index from 0. */
typedef struct clv_rm_object (*tenant_fn)(uint32_t at);

static struct clv_rm_object make(uint32_t parent, uint32_t handle, uint32_t class)
{
	return (struct clv_rm_object){
		.client = 1, .parent = parent, .handle = handle, .class = class};
}

static struct clv_rm_object without_groups(uint32_t at)
{
	return at == 0 ? make(10, 11, CLV_RM_CLASS_SUBDEVICE)
		       : make(10, 100 + at, CHANNEL);
}

static struct clv_rm_object in_one_group(uint32_t at)
{
	if (at < 2)
		return make(10, 11 + at,
			at == 0 ? CLV_RM_CLASS_SUBDEVICE : CLV_RM_CLASS_GROUP);
	return make(12, 100 + at, CHANNEL);
}

static struct clv_rm_object in_many_groups(uint32_t at)
{
	uint32_t group = 1000 + at / 4 * 4;

	if (at == 0)
		return make(10, 11, CLV_RM_CLASS_SUBDEVICE);
	return at % 4 == 0 ? make(10, group, CLV_RM_CLASS_GROUP)
			   : make(group, 1000 + at, CHANNEL);
}

static struct clv_rm_object of_many_subdevices(uint32_t at)
{
	return make(10, 100 + at, at % 2 ? CHANNEL : CLV_RM_CLASS_SUBDEVICE);
}

static struct clv_rm_object by_one_parent_of_all(uint32_t at)
{
	return at == 0 ? make(10, 11, CLV_RM_CLASS_SUBDEVICE)
		       : make(10, 0x10000u * at, CHANNEL);
}

static struct clv_rm_object on_many_gpus(uint32_t at)
{
	uint32_t device = 10000 * (1 + at % 40);

	return make(device, device + 1 + at / 40,
		at / 40 == 0 ? CLV_RM_CLASS_SUBDEVICE : CHANNEL);
}

static const tenant_fn tenants[] = {without_groups, in_one_group, in_many_groups,
	of_many_subdevices, by_one_parent_of_all, on_many_gpus};

static struct clv_rm_channels *channels;

static uint64_t note(tenant_fn tenant, uint32_t n)
{
	uint64_t before = n_steps;

	channels = clv_rm_channels_new(false);
	for (uint32_t at = 0; at < n; at++) {
		const struct clv_rm_object object = tenant(at);

		assert_int_equal(clv_rm_channels_note(channels, FD, &object), 0);
	}
	return n_steps - before;
}

static uint64_t switch_both_ways(enum clv_rm_method method)
{
	uint64_t before = n_steps;

	clv_rm_channels_switch(channels, method, false);
	clv_rm_channels_switch(channels, method, true);
	return n_steps - before;
}

static void test_the_compiler_counts(void **state)
{
	assert_true(note(in_one_group, FEW) > FEW);
	assert_true(switch_both_ways(CLV_RM_BY_CHANNELS) > FEW);
	clv_rm_channels_free(channels);
}

static void test_switching(void **state)
{
	static const enum clv_rm_method methods[] = {
		CLV_RM_BY_CHANNELS, CLV_RM_BY_GROUPS, CLV_RM_BY_SLICES};

	for (size_t i = 0; i < sizeof(tenants) / sizeof(tenants[0]); i++) {
		note(tenants[i], MANY);
		for (size_t j = 0; j < sizeof(methods) / sizeof(methods[0]); j++)
			assert_in_range(
				switch_both_ways(methods[j]), 0, 2 * MANY * SWITCH_STEPS);
		clv_rm_channels_free(channels);
	}
}

static void test_noting(void **state)
{
	for (size_t i = 0; i < sizeof(tenants) / sizeof(tenants[0]); i++) {
		assert_in_range(note(tenants[i], MANY), 0, MANY * NOTE_STEPS);
		clv_rm_channels_free(channels);
	}
}

/* The same handles again, one at a time and with all their children. */
static void test_freeing(void **state)
{
	for (size_t i = 0; i < sizeof(tenants) / sizeof(tenants[0]); i++) {
		const struct clv_rm_object device = make(0, 10, 0);
		uint64_t before;

		note(tenants[i], MANY);
		before = n_steps;
		for (uint32_t at = 0; at < MANY; at += 2) {
			const struct clv_rm_object freed =
				make(0, tenants[i](at).handle, 0);

			clv_rm_channels_note(channels, FD, &freed);
		}
		clv_rm_channels_note(channels, FD, &device);
		assert_in_range(n_steps - before, 0, MANY * NOTE_STEPS);
		clv_rm_channels_free(channels);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_compiler_counts),
		cmocka_unit_test(test_switching),
		cmocka_unit_test(test_noting),
		cmocka_unit_test(test_freeing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
