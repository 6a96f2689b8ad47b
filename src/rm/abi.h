/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdint.h>

/* The interface of NVIDIA's kernel driver to its resource manager, as far as channel
 * groups need it.  Sources: all 144 versions of NVIDIA/open-gpu-kernel-modules from
 * 535.43.02 to 595.45.04: nvos.h and nv_escape.h (calls), class/cla06c.h and clXX6f.h
 * (classes), ctrl/ctrla06c.h, ctrla06fgpfifo.h and ctrl2080fifo.h (controls), and the
 * tables of controls that are generated from them, which define the privileges that a
 * caller needs.  The interface is not stable, so the agent tries it for each driver
 * before it relies on it (agent/lease/executor.c).
 *
 * Bytes of each structure, by version; a control with another number of bytes is refused
 * with CLV_RM_INVALID_PARAMETERS before it has any effect:
 *
 *                      535  545  550  555  560  565  570  575  580  590  595
 *   ALLOC (short)       32   32   32   32   32   32   32   32   32   32   32
 *   ALLOC (rights)      48   48   48   48   48   48   48   48   48   48   48
 *   FREE                16   16   16   16   16   16   16   16   16   16   16
 *   CONTROL             32   32   32   32   32   32   32   32   32   32   32
 *   GROUP_SCHEDULE       2    2    2    2    2    2    2    3    3    3    3
 *   GROUP_*_TIMESLICE    8    8    8    8    8    8    8    8    8    8    8
 *   GROUP_PREEMPT        8    8    8    8    8    8    8    8    8    8    8
 *   DISABLE_CHANNELS   536  536  536  536  536  536  536  536  536  536  536
 *
 * None of the five controls needs a privilege or an access right in any of these versions
 * (RMCTRL_FLAGS_NON_PRIVILEGED, 0x10 up to 550 and 0x8 since; access right 0).  Before
 * 535 the form of ALLOC with rights is shorter. */

#define CLV_RM_IOCTL_TYPE 'F'
#define CLV_RM_FREE 0x29u
#define CLV_RM_CONTROL 0x2au
#define CLV_RM_ALLOC 0x2bu
#define CLV_RM_TRANSFER 211u /* wraps one of the others */

#define CLV_RM_CLASS_SUBDEVICE 0x2080u
#define CLV_RM_CLASS_GROUP 0xa06cu
#define CLV_RM_CLASS_CHANNEL 0x6fu /* the low byte of every channel class */

#define CLV_RM_GROUP_SCHEDULE 0xa06c0101u
#define CLV_RM_GROUP_SET_TIMESLICE 0xa06c0103u
#define CLV_RM_GROUP_GET_TIMESLICE 0xa06c0104u
#define CLV_RM_GROUP_PREEMPT 0xa06c0105u
#define CLV_RM_DISABLE_CHANNELS 0x2080110bu

#define CLV_RM_OK 0u
#define CLV_RM_INVALID_OBJECT 0x33u     /* NV_ERR_INVALID_OBJECT_HANDLE */
#define CLV_RM_INVALID_PARAMETERS 0x3au /* NV_ERR_INVALID_PARAM_STRUCT */
#define CLV_RM_OBJECT_NOT_FOUND 0x57u

/* NVOS00_PARAMETERS */
struct clv_rm_free {
	uint32_t client, parent, object, status;
};

/* NVOS21_PARAMETERS, which is also the beginning of NVOS64_PARAMETERS. */
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

/* NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS; before 575 it ends before skip_enable. */
struct clv_rm_schedule {
	uint8_t enable, skip_submit, skip_enable;
};

/* NVA06C_CTRL_TIMESLICE_PARAMS */
struct clv_rm_timeslice {
	uint64_t us;
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
static_assert(sizeof(struct clv_rm_timeslice) == 8, "NVA06C_CTRL_TIMESLICE_PARAMS");
static_assert(sizeof(struct clv_rm_free) == 16, "NVOS00_PARAMETERS");
static_assert(sizeof(struct clv_rm_preempt) == 8, "NVA06C_CTRL_PREEMPT_PARAMS");
static_assert(sizeof(struct clv_rm_disable_channels) == 536,
	"NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS");
