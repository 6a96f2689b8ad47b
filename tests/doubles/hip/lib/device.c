/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices, their properties, and contexts, of which each device has one. */

#define CLOCK_KHZ 1700000
#define MEMORY_CLOCK_KHZ 1600000
#define MEMORY_WIDTH 4096

int dhi_hipDriverGetVersion(int *ret)
{
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = DHI_ROCM >= 6 ? 60342133 : 50221153;
	return 0;
}

int dhi_hipRuntimeGetVersion(int *ret)
{
	return dhi_hipDriverGetVersion(ret);
}

int dhi_hipGetDeviceCount(int *ret)
{
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = dhi_n_devices;
	return 0;
}

int dhi_hipGetDevice(int *ret)
{
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = dhi_thread.device;
	return 0;
}

int dhi_hipSetDevice(int device)
{
	if (!dhi_device_at(device))
		return HIP_INVALID_DEVICE;
	dhi_thread.device = device;
	return 0;
}

int dhi_hipDeviceGetName(char *ret, int bytes, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!ret || bytes < 1)
		return HIP_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%s", device->name);
	return 0;
}

/* The sixteen digits of the unique id. */
static void give_uuid(const struct device *device, struct uuid *ret)
{
	memcpy(ret->bytes, device->uuid + 4, sizeof(ret->bytes));
}

int dhi_hipDeviceGetUuid(struct uuid *ret, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	give_uuid(device, ret);
	return 0;
}

int dhi_hipDeviceTotalMem(size_t *ret, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = device->bytes;
	return 0;
}

static int bus_of(const struct device *device)
{
	return (int)(device->bdf >> 8 & 0xff);
}

static int slot_of(const struct device *device)
{
	return (int)(device->bdf >> 3 & 0x1f);
}

int dhi_hipDeviceGetPCIBusId(char *ret, int bytes, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!ret || bytes < 1)
		return HIP_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%04x:%02x:%02x.0", device->domain, bus_of(device),
		slot_of(device));
	return 0;
}

int dhi_hipDeviceGetByPCIBusId(int *ret, const char *bdf)
{
	char mine[16];

	if (!ret || !bdf)
		return HIP_INVALID_VALUE;
	for (int i = 0; i < dhi_n_devices; i++) {
		dhi_hipDeviceGetPCIBusId(mine, sizeof(mine), i);
		if (strcasecmp(mine, bdf) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return HIP_INVALID_VALUE;
}

/* --- Attributes --- */

static const struct {
	int attribute, value;
} constants[] = {
	{0, 0},                 /* ECC */
	{2, 2},                 /* engines */
	{3, 1},                 /* maps host memory */
	{5, CLOCK_KHZ}, {8, 1}, /* concurrent kernels */
	{9, 1},                 /* concurrent managed access */
	{10, 1},                /* cooperative launch */
	{11, 1}, {16, 0},       /* integrated */
	{19, 8 << 20}, {24, 1}, /* managed memory */
	{26, 1024}, {27, 1024}, {28, 1024}, {29, INT32_MAX}, {30, 65536}, {31, 65536},
	{56, 1024}, {57, 2048}, {59, MEMORY_WIDTH}, {60, MEMORY_CLOCK_KHZ},
	{61, 0},                                        /* minor */
	{71, 65536}, {72, 65536}, {74, 65536}, {78, 1}, /* priorities */
	{85, 1},                                        /* unified addresses */
	{88, 1},                                        /* memory pools */
	{89, DHI_ROCM >= 6},                            /* virtual memory */
	{10013, 1},                                     /* waits for values */
};

int dhi_hipDeviceGetAttribute(int *ret, int attribute, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!device)
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (constants[i].attribute == attribute) {
			*ret = constants[i].value;
			return 0;
		}
	switch (attribute) {
	case 23:
		*ret = (int)device->major;
		return 0;
	case 63:
	case 10015:
		*ret = (int)device->units;
		return 0;
	case 67:
		*ret = bus_of(device);
		return 0;
	case 68:
		*ret = slot_of(device);
		return 0;
	case 69:
		*ret = (int)device->domain;
		return 0;
	case 83:
		*ret = INT32_MAX;
		return 0;
	case 87:
		*ret = (int)device->warp;
		return 0;
	}
	*ret = 0;
	return attribute < 0 ? HIP_INVALID_VALUE : 0;
}

/* --- Properties, in both forms --- */

static void fill_5(const struct device *device, struct props_5 *p)
{
	snprintf(p->name, sizeof(p->name), "%s", device->name);
	snprintf(p->arch_name, sizeof(p->arch_name), "%s", device->arch);
	p->total_bytes = device->bytes;
	p->shared_bytes = p->shared_per_unit = 65536;
	p->registers = 65536;
	p->warp = (int)device->warp;
	p->block_max = 1024;
	for (int i = 0; i < 3; i++) {
		p->block_dim_max[i] = 1024;
		p->grid_max[i] = i ? 65536 : INT32_MAX;
	}
	p->clock = CLOCK_KHZ;
	p->memory_clock = MEMORY_CLOCK_KHZ;
	p->memory_width = MEMORY_WIDTH;
	p->const_bytes = INT32_MAX;
	p->major = (int)device->major;
	p->units = (int)device->units;
	p->l2_bytes = 8 << 20;
	p->threads_per_unit = 2048;
	p->concurrent_kernels = p->can_map_host = p->cooperative = 1;
	p->domain = (int)device->domain;
	p->bus = bus_of(device);
	p->device = slot_of(device);
	p->is_large_bar = p->managed = p->concurrent_managed = 1;
}

int dhi_hipGetDevicePropertiesR0000(struct props_5 *ret, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);

	if (!ret)
		return HIP_INVALID_VALUE;
	if (!device)
		return HIP_INVALID_DEVICE;
	memset(ret, 0, sizeof(*ret));
	fill_5(device, ret);
	return 0;
}

int dhi_hipGetDeviceProperties(struct props_5 *ret, int ordinal)
{
	return dhi_hipGetDevicePropertiesR0000(ret, ordinal);
}

int dhi_hipGetDevicePropertiesR0600(struct props_6 *ret, int ordinal)
{
	const struct device *device = dhi_device_at(ordinal);
	struct props_5 old = {0};

	if (!ret)
		return HIP_INVALID_VALUE;
	if (!device)
		return HIP_INVALID_DEVICE;
	fill_5(device, &old);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, old.name, sizeof(ret->name));
	memcpy(ret->arch_name, old.arch_name, sizeof(ret->arch_name));
	give_uuid(device, &ret->uuid);
	memcpy(ret->block_dim_max, old.block_dim_max, sizeof(ret->block_dim_max));
	memcpy(ret->grid_max, old.grid_max, sizeof(ret->grid_max));
	ret->total_bytes = old.total_bytes;
	ret->shared_bytes = ret->shared_per_unit = ret->shared_per_unit_max = 65536;
	ret->registers = ret->registers_per_unit = old.registers;
	ret->warp = old.warp;
	ret->block_max = old.block_max;
	ret->clock = old.clock;
	ret->memory_clock = old.memory_clock;
	ret->memory_width = old.memory_width;
	ret->const_bytes = old.const_bytes;
	ret->major = old.major;
	ret->units = old.units;
	ret->l2_bytes = old.l2_bytes;
	ret->threads_per_unit = old.threads_per_unit;
	ret->concurrent_kernels = ret->can_map_host = ret->cooperative = 1;
	ret->domain = old.domain;
	ret->bus = old.bus;
	ret->device = old.device;
	ret->engines = 2;
	ret->unified = ret->priorities = ret->managed = ret->concurrent_managed = 1;
	ret->pools = ret->is_large_bar = 1;
	return 0;
}

/* --- Settings --- */

int dhi_hipDeviceReset(void)
{
	dhi_device_await(dhi_current());
	return 0;
}

/* --- Contexts --- */

static struct ctx *ctx_of(struct device *device)
{
	return (struct ctx *)device;
}

static struct device *device_of(struct ctx *ctx)
{
	for (int i = 0; i < dhi_n_devices; i++)
		if (ctx_of(&dhi_devices[i]) == ctx)
			return &dhi_devices[i];
	return NULL;
}

int dhi_hipCtxCreate(struct ctx **ret, unsigned flags, int ordinal)
{
	if (!dhi_device_at(ordinal))
		return HIP_INVALID_DEVICE;
	if (!ret)
		return HIP_INVALID_VALUE;
	*ret = ctx_of(dhi_device_at(ordinal));
	return dhi_hipSetDevice(ordinal);
}

int dhi_hipCtxDestroy(struct ctx *ctx)
{
	return device_of(ctx) ? 0 : HIP_INVALID_VALUE;
}

int dhi_hipCtxSetCurrent(struct ctx *ctx)
{
	if (ctx && !device_of(ctx))
		return HIP_INVALID_CONTEXT;
	if (ctx)
		dhi_thread.device = device_of(ctx)->ordinal;
	return 0;
}

int dhi_hipCtxPushCurrent(struct ctx *ctx)
{
	return ctx ? dhi_hipCtxSetCurrent(ctx) : HIP_INVALID_CONTEXT;
}

int dhi_hipCtxPopCurrent(struct ctx **ret)
{
	if (ret)
		*ret = ctx_of(dhi_current());
	return 0;
}

int dhi_hipCtxSynchronize(void)
{
	return dhi_hipDeviceSynchronize();
}
