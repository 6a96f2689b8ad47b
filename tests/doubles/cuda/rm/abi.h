/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* Numbers and layouts of the kernel driver's public interface. */

#define DCU_RM_TYPE 'F'
#define DCU_RM_IOCTL_FREE 0x29U
#define DCU_RM_IOCTL_CONTROL 0x2aU
#define DCU_RM_IOCTL_ALLOC 0x2bU
#define DCU_RM_IOCTL_OTHERS 200U /* from here on: of other parts of the driver */
#define DCU_RM_IOCTL_TRANSFER 211U

#define DCU_RM_CLIENT 0x41U
#define DCU_RM_DEVICE 0x80U
#define DCU_RM_SUBDEVICE 0x2080U
#define DCU_RM_GROUP 0xa06cU
#define DCU_RM_CHANNEL_HOPPER 0xc86fU
#define DCU_RM_ENGINE_COMPUTE 1U
#define DCU_RM_ENGINE_COPY 9U

#define DCU_RM_DUPLICATE 0x19U
#define DCU_RM_NOT_PERMITTED 0x1bU
#define DCU_RM_INVALID_ARGUMENT 0x1fU
#define DCU_RM_INVALID_CLIENT 0x23U
#define DCU_RM_INVALID_OBJECT 0x33U
#define DCU_RM_INVALID_PARAMS 0x3aU
#define DCU_RM_NOT_SUPPORTED 0x56U

struct dcu_rm_free {
	uint32_t client, parent, object, status;
};

/* The short form ends before `rights`, and then has only bytes and status. */
struct dcu_rm_alloc_short {
	uint32_t client, parent, object, class;
	uint64_t params;
	uint32_t bytes, status;
};

struct dcu_rm_alloc {
	uint32_t client, parent, object, class;
	uint64_t params, rights;
	uint32_t bytes, flags, status, padding;
};

struct dcu_rm_control {
	uint32_t client, object, command, flags;
	uint64_t params;
	uint32_t bytes, status;
};

struct dcu_rm_transfer {
	uint32_t number, bytes;
	uint64_t at;
};

/* The address space is a handle; the library stores its context in it. */
struct dcu_rm_group_params {
	uint32_t errors, ecc_errors, address_space, engine;
	uint8_t of_vgpu_plugin, padding[3];
};

#define DCU_RM_DISABLE_MAX 64
struct dcu_rm_disable {
	uint8_t disable, padding[3];
	uint32_t n;
	uint8_t only_scheduling, rewind, more[6];
	uint64_t event;
	uint32_t clients[DCU_RM_DISABLE_MAX], channels[DCU_RM_DISABLE_MAX];
};

_Static_assert(sizeof(struct dcu_rm_alloc_short) == 32, "as the driver's");
_Static_assert(sizeof(struct dcu_rm_alloc) == 48, "as the driver's");
_Static_assert(sizeof(struct dcu_rm_control) == 32, "as the driver's");
_Static_assert(sizeof(struct dcu_rm_disable) == 536, "as the driver's");
