/* SPDX-License-Identifier: Apache-2.0 */
/* Channel groups of processes on drivers of several versions; the test is the driver.
 * Sizes: NVIDIA/open-gpu-kernel-modules 535.43.02 to 595.45.04. */
#include "rm/channels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#define FD 77
#define CLIENT 0xc1d00001u
#define SUBDEVICE 0x2080u
#define GROUP 0xa06cu
#define CHANNEL 0xc86fu
#define SCHEDULE 0xa06c0101u
#define TIMESLICE 0xa06c0103u
#define GET_TIMESLICE 0xa06c0104u
#define PREEMPT 0xa06c0105u
#define DISABLE 0x2080110bu
#define INVALID_PARAM_STRUCT 0x3au
#define INVALID_OBJECT 0x33u
#define CALLS_MAX 64

/* NVOS54_PARAMETERS */
struct call {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

static struct {
	uint32_t schedule_bytes;
	struct {
		uint32_t object, command;
		uint64_t us;              /* of TIMESLICE */
		uint32_t n, channels[64]; /* of DISABLE */
	} calls[CALLS_MAX];
	unsigned n_calls, n_refused;
	uint64_t slice_us;
} driver;

static uint32_t bytes_of(uint32_t command)
{
	return command == SCHEDULE ? driver.schedule_bytes : command == DISABLE ? 536 : 8;
}

int __wrap_ioctl(int fd, unsigned long request, struct call *call);
int __wrap_ioctl(int fd, unsigned long request, struct call *call)
{
	unsigned char *p = (unsigned char *)(uintptr_t)call->parameters;

	assert_int_equal(fd, FD);
	assert_int_equal(_IOC_NR(request), 0x2a);
	assert_int_equal(call->client, CLIENT);
	call->status = 0;
	if (call->n_bytes != bytes_of(call->command)) {
		call->status = INVALID_PARAM_STRUCT;
		driver.n_refused++;
		return 0;
	}
	assert_true(driver.n_calls < CALLS_MAX);
	driver.calls[driver.n_calls].object = call->object;
	driver.calls[driver.n_calls].command = call->command;
	if (call->command == TIMESLICE) {
		memcpy(&driver.slice_us, p, 8);
		driver.calls[driver.n_calls].us = driver.slice_us;
	}
	if (call->command == GET_TIMESLICE)
		memcpy(p, &driver.slice_us, 8);
	if (call->command == DISABLE) {
		memcpy(&driver.calls[driver.n_calls].n, p + 4, 4);
		memcpy(driver.calls[driver.n_calls].channels, p + 24 + 64 * 4, 64 * 4);
	}
	driver.n_calls++;
	return 0;
}

static void note(struct clv_rm_channels *channels, uint32_t parent, uint32_t handle,
	uint32_t class)
{
	const struct clv_rm_object object = {
		.client = CLIENT, .parent = parent, .handle = handle, .class = class};

	assert_int_equal(clv_rm_channels_note(channels, FD, &object), 0);
}

/* A device with a subdevice, and a group of n channels. */
static void add_gpu(struct clv_rm_channels *channels, uint32_t device, unsigned n)
{
	note(channels, device, device + 1, SUBDEVICE);
	note(channels, device, device + 2, GROUP);
	for (uint32_t i = 0; i < n; i++)
		note(channels, device + 2, device + 0x100 + i, CHANNEL);
}

static struct clv_rm_channels *begin(uint32_t schedule_bytes)
{
	memset(&driver, 0, sizeof(driver));
	driver.schedule_bytes = schedule_bytes;
	return clv_rm_channels_new(false);
}

static unsigned count(uint32_t command)
{
	unsigned n = 0;

	for (unsigned i = 0; i < driver.n_calls; i++)
		n += driver.calls[i].command == command;
	return n;
}

/* 575 and later, then an older driver, then the first again: the size that worked is
 * tried first the next time. */
static void test_schedule_of_either_size(void **state)
{
	static const uint32_t bytes[] = {3, 2, 3};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct clv_rm_channels *channels = begin(bytes[i]);

		add_gpu(channels, 0x1000, 2);
		assert_int_equal(
			clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, false), 0);
		assert_int_equal(
			clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, true), 0);
		assert_int_equal(count(SCHEDULE), 2);
		assert_int_equal(count(PREEMPT), 1);
		assert_in_range(driver.n_refused, 0, 1);
		clv_rm_channels_free(channels);
	}
}

static void test_schedule_of_no_known_size(void **state)
{
	struct clv_rm_channels *channels = begin(4);

	add_gpu(channels, 0x1000, 1);
	assert_int_equal(clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, false),
		INVALID_PARAM_STRUCT);
	assert_int_equal(driver.n_refused, 2);
	clv_rm_channels_free(channels);
}

/* Each GPU's channels are disabled through its own subdevice. */
static void test_several_gpus(void **state)
{
	struct clv_rm_channels *channels = begin(3);
	unsigned seen = 0;

	add_gpu(channels, 0x1000, 3);
	add_gpu(channels, 0x2000, 70);
	assert_int_equal(clv_rm_channels_switch(channels, CLV_RM_BY_CHANNELS, false), 0);
	for (unsigned i = 0; i < driver.n_calls; i++) {
		assert_int_equal(driver.calls[i].command, DISABLE);
		for (uint32_t j = 0; j < driver.calls[i].n; j++)
			assert_int_equal(driver.calls[i].channels[j] & 0xf000,
				driver.calls[i].object & 0xf000);
		seen += driver.calls[i].n;
	}
	assert_int_equal(seen, 73);
	assert_int_equal(driver.n_calls, 3);
	clv_rm_channels_free(channels);
}

/* The channel must not be reported as stopped. */
static void test_no_subdevice(void **state)
{
	struct clv_rm_channels *channels = begin(3);

	note(channels, 0x1000, 0x1002, GROUP);
	note(channels, 0x1002, 0x1100, CHANNEL);
	assert_int_not_equal(
		clv_rm_channels_switch(channels, CLV_RM_BY_CHANNELS, false), 0);
	assert_int_equal(driver.n_calls, 0);
	clv_rm_channels_free(channels);
}

static void test_slices(void **state)
{
	struct clv_rm_channels *channels = begin(3);

	add_gpu(channels, 0x1000, 1);
	assert_int_equal(clv_rm_channels_switch(channels, CLV_RM_BY_SLICES, false), 0);
	assert_int_equal(clv_rm_channels_switch(channels, CLV_RM_BY_SLICES, true), 0);
	assert_int_equal(driver.n_calls, 3);
	assert_int_equal(driver.calls[0].us, CLV_RM_SLICE_OFF_US);
	assert_int_equal(driver.calls[0].object, 0x1002);
	assert_int_equal(driver.calls[1].command, PREEMPT);
	assert_int_equal(driver.calls[2].us, CLV_RM_SLICE_ON_US);
	clv_rm_channels_free(channels);
}

/* A time slice other than that of a stopped group is left alone. */
static void test_put_back(void **state)
{
	static const uint64_t before[] = {CLV_RM_SLICE_OFF_US, 1024};

	for (size_t i = 0; i < 2; i++) {
		struct clv_rm_channels *channels = begin(3);

		add_gpu(channels, 0x1000, 1);
		driver.slice_us = before[i];
		clv_rm_channels_restore(channels);
		assert_int_equal(count(DISABLE), 1);
		assert_int_equal(count(SCHEDULE), 1);
		assert_int_equal(driver.slice_us, i == 0 ? CLV_RM_SLICE_ON_US : 1024);
		clv_rm_channels_free(channels);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedule_of_either_size),
		cmocka_unit_test(test_schedule_of_no_known_size),
		cmocka_unit_test(test_several_gpus),
		cmocka_unit_test(test_no_subdevice),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
