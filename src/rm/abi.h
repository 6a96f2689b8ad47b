/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdint.h>

/* The interface of NVIDIA's kernel driver to its resource manager, as far as it concerns
 * channel groups.  Source: NVIDIA/open-gpu-kernel-modules 595.45.04: nvos.h and
 * nv_escape.h (calls), class/cla06c.h and clXX6f.h (classes), ctrl/ctrla06c.h and
 * ctrl2080fifo.h (controls).  It is no stable interface, so what of it works is tried
 * before it is relied on (agent/executor.c). */

#define CLV_RM_IOCTL_TYPE 'F'
#define CLV_RM_FREE 0x29u
#define CLV_RM_CONTROL 0x2au
#define CLV_RM_ALLOC 0x2bu
#define CLV_RM_TRANSFER 211u /* wraps one of the others */

#define CLV_RM_CLASS_SUBDEVICE 0x2080u
#define CLV_RM_CLASS_GROUP 0xa06cu
#define CLV_RM_CLASS_CHANNEL 0x6fu /* the low byte of all of them */

#define CLV_RM_GROUP_SCHEDULE 0xa06c0101u
#define CLV_RM_GROUP_PREEMPT 0xa06c0105u
#define CLV_RM_DISABLE_CHANNELS 0x2080110bu

#define CLV_RM_OK 0u

/* NVOS00_PARAMETERS */
struct clv_rm_free {
	uint32_t client, parent, object, status;
};

/* NVOS21_PARAMETERS, and how NVOS64_PARAMETERS begins. */
struct clv_rm_alloc {
	uint32_t client, parent, object, class;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

/* NVOS64_PARAMETERS */
struct clv_rm_alloc_rights {
	uint32_t client, parent, object, class;
	uint64_t parameters, rights;
	uint32_t n_bytes, flags, status, padding;
};

/* NVOS54_PARAMETERS */
struct clv_rm_control {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

/* nv_ioctl_xfer_t */
struct clv_rm_transfer {
	uint32_t number, n_bytes;
	uint64_t argument;
};

/* NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS */
struct clv_rm_schedule {
	uint8_t enable, skip_submit, skip_enable;
};

/* NVA06C_CTRL_PREEMPT_PARAMS */
struct clv_rm_preempt {
	uint8_t wait, has_timeout, padding[2];
	uint32_t timeout_us;
};

/* NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS */
#define CLV_RM_CHANNELS_AT_ONCE 64u
struct clv_rm_disable_channels {
	uint8_t disable, padding[3];
	uint32_t n_channels;
	uint8_t only_scheduling, rewind, more_padding[6];
	uint64_t event;
	uint32_t clients[CLV_RM_CHANNELS_AT_ONCE];
	uint32_t channels[CLV_RM_CHANNELS_AT_ONCE];
};

static_assert(sizeof(struct clv_rm_alloc) == 32, "NVOS21_PARAMETERS");
static_assert(sizeof(struct clv_rm_alloc_rights) == 48, "NVOS64_PARAMETERS");
static_assert(sizeof(struct clv_rm_control) == 32, "NVOS54_PARAMETERS");
static_assert(sizeof(struct clv_rm_transfer) == 16, "nv_ioctl_xfer_t");
static_assert(sizeof(struct clv_rm_schedule) == 3, "NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS");
static_assert(sizeof(struct clv_rm_preempt) == 8, "NVA06C_CTRL_PREEMPT_PARAMS");
static_assert(sizeof(struct clv_rm_disable_channels) == 536,
	"NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS");
