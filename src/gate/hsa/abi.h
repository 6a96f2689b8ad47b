/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The part of HSA's ABI that the gate needs.  Handles are structures of one word, which
 * are passed as the word is.  Source: hsa.h and hsa_ext_amd.h of ROCm 5.2 to 6.3. */

enum {
	CLV_HSA_SUCCESS = 0,
	CLV_HSA_CU_MASK_REDUCED = 44,
	CLV_HSA_ERROR = 0x1000,
	CLV_HSA_INVALID_QUEUE_CREATION = 0x1002,
	CLV_HSA_OUT_OF_RESOURCES = 0x1008,
};

#define CLV_HSA_AGENT_DEVICE 17
#define CLV_HSA_AGENT_UNITS 0xa002
#define CLV_HSA_AGENT_COOPERATIVE_UNITS 0xa014
#define CLV_HSA_AGENT_MEMORY_AVAILABLE 0xa015
#define CLV_HSA_DEVICE_GPU 1

/* Attributes of pools.  Those of regions have the same numbers, but for the last one. */
#define CLV_HSA_POOL_SIZE 2
#define CLV_HSA_POOL_GRANULE 6
#define CLV_HSA_POOL_ALLOCATION_MAX 16
#define CLV_HSA_REGION_ALLOCATION_MAX 4

#define CLV_HSA_EXTENSION_IMAGES 1

#define CLV_HSA_SIGNAL_LESS 2
#define CLV_HSA_WAIT_BLOCKED 0
