/* SPDX-License-Identifier: Apache-2.0 */
#include "rm.h"
#include "../rm/abi.h"
#include "process.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

static int control_fd = -2;
static uint32_t client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t make(uint32_t parent, uint32_t class, void *params, uint32_t bytes)
{
	struct dcu_rm_alloc a = {.client = client,
		.parent = parent,
		.class = class,
		.params = (uint64_t)(uintptr_t)params,
		.bytes = bytes};

	if (ioctl(control_fd, _IOC(3U, DCU_RM_TYPE, DCU_RM_IOCTL_ALLOC, sizeof(a)), &a) <
			0 ||
		a.status)
		return 0;
	return a.object;
}

/* Opens the control file, the GPU's and that of managed memory, as a driver does. */
static void begin(const struct device *device)
{
	char path[32];

	if (control_fd != -2)
		return;
	control_fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	if (control_fd < 0)
		return;
	snprintf(path, sizeof(path), "/dev/nvidia%u", device->gpu);
	open(path, O_RDWR | O_CLOEXEC);
	open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC);
	client = make(0, DCU_RM_CLIENT, NULL, 0);
}

static uint32_t make_group(
	uint32_t device, uint32_t context, uint32_t engine, uint32_t n_channels)
{
	struct dcu_rm_group_params params = {.address_space = context, .engine = engine};
	uint32_t group = make(device, DCU_RM_GROUP, &params, sizeof(params));

	for (uint32_t i = 0; group && i < n_channels; i++)
		make(group, DCU_RM_CHANNEL_HOPPER, NULL, 0);
	return group;
}

uint32_t dcu_rm_open(const struct device *device, uint32_t context)
{
	uint32_t params[14] = {device->gpu}, object = 0;

	pthread_mutex_lock(&lock);
	begin(device);
	if (control_fd >= 0 && client) {
		object = make(client, DCU_RM_DEVICE, params, sizeof(params));
		make(object, DCU_RM_SUBDEVICE, params, sizeof(params[0]));
		for (uint32_t i = 0; i < dgp_hello.compute_groups; i++)
			make_group(object, context, DCU_RM_ENGINE_COMPUTE, 8);
		for (uint32_t i = 0; i < dgp_hello.copy_groups; i++)
			make_group(object, context, DCU_RM_ENGINE_COPY + i, 2);
	}
	pthread_mutex_unlock(&lock);
	return object;
}

void dcu_rm_close(uint32_t object)
{
	struct dcu_rm_free f = {.client = client, .parent = client, .object = object};

	if (object)
		ioctl(control_fd, _IOC(3U, DCU_RM_TYPE, DCU_RM_IOCTL_FREE, sizeof(f)),
			&f);
}
