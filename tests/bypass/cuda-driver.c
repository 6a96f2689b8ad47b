/* SPDX-License-Identifier: Apache-2.0 */
/* Ways past the driver's library, by the kernel driver: what a process may do with its
 * own channel groups.  It learns their handles when the library creates them. */
#include "cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ALLOC 0x2b
#define CLASS_OF_SUBDEVICES 0x2080
#define CLASS_OF_GROUPS 0xa06c
#define CLASS_OF_CHANNELS 0xc86f
#define SCHEDULE 0xa06c0101u
#define SET_TIMESLICE 0xa06c0103u
#define DISABLE_CHANNELS 0x2080110bu
#define CHANNELS_MAX 64

struct alloc {
	uint32_t client, parent, object, class;
};

struct control {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t bytes, status;
};

struct disable {
	uint8_t disable, padding[3];
	uint32_t n;
	uint8_t only_scheduling, rewind, more[6];
	uint64_t event;
	uint32_t clients[CHANNELS_MAX], channels[CHANNELS_MAX];
};

/* The first group, which is the one that computes. */
static struct {
	int fd;
	uint32_t client, subdevice, group, n_channels;
	uint32_t channels[CHANNELS_MAX];
} seen;

static void learn(int fd, const struct alloc *made)
{
	if (made->class == CLASS_OF_SUBDEVICES && !seen.subdevice)
		seen.subdevice = made->object;
	if (made->class == CLASS_OF_GROUPS && !seen.group) {
		seen.fd = fd;
		seen.client = made->client;
		seen.group = made->object;
	}
	if (made->class == CLASS_OF_CHANNELS && seen.n_channels < CHANNELS_MAX)
		seen.channels[seen.n_channels++] = made->object;
}

int ioctl(int fd, unsigned long request, ...) __attribute__((visibility("default")));

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int fd, unsigned long request, ...);
	va_list rest;
	void *argument;
	int r;

	if (!next)
		*(void **)(void *)&next = dlsym(RTLD_NEXT, "ioctl");
	va_start(rest, request);
	argument = va_arg(rest, void *);
	va_end(rest);
	r = next(fd, request, argument);
	if (r == 0 && _IOC_TYPE(request) == 'F' && _IOC_NR(request) == ALLOC)
		learn(fd, argument);
	return r;
}

static uint32_t control(
	uint32_t object, uint32_t command, void *parameters, uint32_t n_bytes)
{
	struct control control = {.client = seen.client,
		.object = object,
		.command = command,
		.parameters = (uint64_t)(uintptr_t)parameters,
		.bytes = n_bytes};

	OK(ioctl(seen.fd, _IOWR('F', 0x2a, struct control), &control));
	return control.status;
}

static void open_with_group(void)
{
	gpu_open();
	if (!seen.group)
		way_die("no channel group", 0);
}

/* Time slices of a second; the usual ones are of a millisecond. */
static void take_long_slices(void)
{
	uint64_t us = 1000000;

	open_with_group();
	OK((int)control(seen.group, SET_TIMESLICE, &us, sizeof(us)));
}

static int own_timeslice(char **arguments)
{
	take_long_slices();
	way_say("go\n");
	flood_with_kernels(new_stream(), KERNEL_NS, 16);
	return 0;
}

static int endless_timeslice(char **arguments)
{
	take_long_slices();
	way_say("go\n");
	launch(new_stream(), 3600000000000);
	way_stay();
	return 0;
}

static void *put_back(void *userdata)
{
	uint8_t schedule[3] = {1, 0, 0};
	struct disable enable = {.n = seen.n_channels};

	for (uint32_t i = 0; i < seen.n_channels; i++) {
		enable.clients[i] = seen.client;
		enable.channels[i] = seen.channels[i];
	}
	while (seen.group) {
		control(seen.subdevice, DISABLE_CHANNELS, &enable, sizeof(enable));
		control(seen.group, SCHEDULE, schedule, sizeof(schedule));
		usleep(200);
	}
	return NULL;
}

/* Channels that the agent takes off the GPU are put back at once. */
static int channels_put_back(char **arguments)
{
	pthread_t thread;

	open_with_group();
	pthread_create(&thread, NULL, put_back, NULL);
	way_say("go\n");
	flood_with_kernels(new_stream(), 100000000, 2);
	return 0;
}

/* The same in slices of a second. */
static int slices_put_back(char **arguments)
{
	take_long_slices();
	return channels_put_back(arguments);
}

const struct way way_driver[] = {
	{"own-timeslice", own_timeslice},
	{"endless-timeslice", endless_timeslice},
	{"channels-put-back", channels_put_back},
	{"slices-put-back", slices_put_back},
	{NULL, NULL},
};
