/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "objects.h"
#include <stdio.h>
#include <string.h>

/* The devices as the API shows them. */

int dcu_cuInit(unsigned flags)
{
	return flags ? DCU_INVALID_VALUE : dcu_process_init();
}

int dcu_cuDriverGetVersion(int *ret)
{
	if (!ret)
		return DCU_INVALID_VALUE;
	/* Programs may query before they initialize. */
	dcu_process_init();
	*ret = DCU_CUDA == 11 ? 11030 : (int)dcu_version;
	return 0;
}

int dcu_cuDeviceGetCount(int *ret)
{
	if (!ret)
		return DCU_INVALID_VALUE;
	*ret = dcu_n_devices;
	return 0;
}

int dcu_cuDeviceGetName(char *ret, int bytes, int ordinal)
{
	const struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	if (!ret || bytes < 1)
		return DCU_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%s", device->info.name);
	return 0;
}

int dcu_cuDeviceGetUuid_v2(struct uuid *ret, int ordinal)
{
	const struct device *device = dcu_device_at(ordinal);
	const char *at;

	if (!device)
		return DCU_INVALID_DEVICE;
	at = device->info.uuid + strlen("GPU-");
	for (int i = 0; i < 16; i++) {
		unsigned byte = 0;

		at += *at == '-';
		if (sscanf(at, "%2x", &byte) != 1)
			return DCU_UNKNOWN;
		ret->bytes[i] = (unsigned char)byte;
		at += 2;
	}
	return 0;
}

int dcu_cuDeviceTotalMem_v2(size_t *ret, int ordinal)
{
	const struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	*ret = device->info.memory_bytes;
	return 0;
}

int dcu_cuDeviceGetPCIBusId(char *ret, int bytes, int ordinal)
{
	const struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	if (!ret || bytes < 13)
		return DCU_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%04X:%02X:%02X.0", device->info.domain,
		device->info.bus, device->info.device);
	return 0;
}

/* The attributes that do not depend on the GPU. An attribute that is not here is 0. */
static const struct {
	int attribute, value;
} attributes[] = {
	{1, 1024},        /* threads in a block */
	{2, 1024},        /* block's x */
	{3, 1024},        /* y */
	{4, 64},          /* z */
	{5, 2147483647},  /* grid's x */
	{6, 65535},       /* y */
	{7, 65535},       /* z */
	{8, 49152},       /* shared memory of a block */
	{9, 65536},       /* constant memory */
	{10, 32},         /* warp */
	{11, 2147483647}, /* pitch */
	{12, 65536},      /* registers of a block */
	{13, 1980000},    /* kHz */
	{14, 512},        /* texture alignment */
	{15, 1},          /* copies beside kernels */
	{19, 1},          /* can map host memory */
	{31, 1},          /* kernels at a time */
	{32, 1},          /* ECC */
	{36, 2619000},    /* kHz of the memory */
	{37, 5120},       /* bits of its bus */
	{38, 52428800},   /* L2 */
	{39, 2048},       /* threads of a multiprocessor */
	{40, 3},          /* copy engines */
	{41, 1},          /* unified addresses */
	{51, 32},         /* pitch alignment of textures */
	{78, 1},          /* stream priorities */
	{81, 233472},     /* shared memory of a multiprocessor */
	{82, 65536},      /* its registers */
	{83, 1},          /* managed memory */
	{90, 1},          /* compute preemption */
	{92, 1},          /* memory operations of streams */
	{93, 1},          /* 64 bits of them */
	{94, 1},          /* waits for "not or" */
	{95, 1},          /* cooperative launch */
	{97, 232448},     /* shared memory of a block that opts in */
	{102, 1},         /* virtual memory management */
	{103, 1},         /* shareable by file descriptor */
	{106, 32},        /* blocks of a multiprocessor */
	{111, 1024},      /* reserved shared memory of a block */
	{115, 1},         /* memory pools */
	{119, 1},         /* pools' handle types: file descriptor */
	{122, 1},         /* memory operations, second version */
	{123, 1},         /* 64 bits of those */
	{124, 1},         /* clusters */
	{132, 1},         /* multicast */
};

static int attribute_of(const struct device *device, int attribute)
{
	switch (attribute) {
	case 16:
		return (int)device->info.units;
	case 33:
		return (int)device->info.bus;
	case 34:
		return (int)device->info.device;
	case 50:
		return (int)device->info.domain;
	case 75:
		return (int)device->info.capability[0];
	case 76:
		return (int)device->info.capability[1];
	case 89: /* concurrent managed access */
		return (int)dgp_hello.concurrent_managed;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == attribute)
			return attributes[i].value;
	return 0;
}

int dcu_cuDeviceGetAttribute(int *ret, int attribute, int ordinal)
{
	const struct device *device = dcu_device_at(ordinal);

	if (!device)
		return DCU_INVALID_DEVICE;
	if (!ret || attribute < 1 || attribute > 200)
		return DCU_INVALID_VALUE;
	*ret = attribute_of(device, attribute);
	return 0;
}
