/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

#define DCL_MEM_ALIGN_BYTES 128
#define DCL_LOCAL_BYTES 65536
#define DCL_IMAGE_MAX_2D 16384
#define DCL_IMAGE_MAX_3D 2048
#define DCL_IMAGE_MAX_ARRAY 2048
#define DCL_PIPE_MAX_PACKET_BYTES 1024

void dcl_devices_init(void);

/* The devices of the platform; `n` is at most DCL_MAX_DEVICES. */
cl_uint dcl_devices(cl_device_id *ret);

cl_int dcl_platform_query(cl_uint param, size_t bytes, void *ret, size_t *ret_bytes);
cl_int dcl_device_query(
	cl_device_id device, cl_uint param, size_t bytes, void *ret, size_t *ret_bytes);
