/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* The part of NVML's ABI that the gate needs, from the header of 13.0; all drivers since
 * R450 have the same layouts.  Handles are opaque pointers. */

enum {
	CLV_NVML_SUCCESS = 0,
	CLV_NVML_INVALID_ARGUMENT = 2,
	CLV_NVML_NO_PERMISSION = 4,
	CLV_NVML_NOT_FOUND = 6,
	CLV_NVML_INSUFFICIENT_SIZE = 7,
	CLV_NVML_FUNCTION_NOT_FOUND = 13,
	CLV_NVML_MEMORY = 20,
};

#define CLV_NVML_UUID_BYTES 96

struct clv_nvml_memory {
	uint64_t total, free, used; /* used includes what the driver reserves */
};

struct clv_nvml_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
#define CLV_NVML_MEMORY_V2 (sizeof(struct clv_nvml_memory_v2) | 2u << 24)

struct clv_nvml_attributes {
	uint32_t counts[8];
	uint64_t memory_mib;
};

struct clv_nvml_memory_limits {
	const char *cgroup;
	uint64_t soft, hard, used;
};

struct clv_nvml_utilization {
	uint32_t gpu, memory; /* percent */
};

/* List entries that name a process. */
struct clv_nvml_process_v1 {
	uint32_t pid;
	uint64_t memory_bytes;
};

/* Of versions 2 and 3 of the calls. */
struct clv_nvml_process {
	uint32_t pid;
	uint64_t memory_bytes;
	uint32_t gpu_instance, compute_instance;
};

struct clv_nvml_process_detail {
	struct clv_nvml_process process;
	uint64_t protected_bytes;
};

struct clv_nvml_detail_list {
	uint32_t version, mode, n;
	struct clv_nvml_process_detail *items;
};

struct clv_nvml_encoder_session {
	uint32_t id, pid, more[6];
};

struct clv_nvml_capture_session {
	uint32_t id, pid, more[10];
};

struct clv_nvml_process_use {
	uint32_t pid;
	uint64_t time_us;
	uint32_t multiprocessors, memory, encoder, decoder;
};

struct clv_nvml_process_use_info {
	uint64_t time_us;
	uint32_t pid, multiprocessors, memory, encoder, decoder, jpeg, optical_flow;
};

struct clv_nvml_use_list {
	uint32_t version, n;
	uint64_t last_seen_us;
	struct clv_nvml_process_use_info *items;
};

struct clv_nvml_accounting {
	uint32_t pid; /* the rest is passed through */
};

static_assert(sizeof(struct clv_nvml_memory) == 24, "as the driver has it");
static_assert(sizeof(struct clv_nvml_memory_v2) == 40, "as the driver has it");
static_assert(sizeof(struct clv_nvml_attributes) == 40, "as the driver has it");
static_assert(sizeof(struct clv_nvml_memory_limits) == 32, "as the driver has it");
static_assert(sizeof(struct clv_nvml_process_v1) == 16, "as the driver has it");
static_assert(sizeof(struct clv_nvml_process) == 24, "as the driver has it");
static_assert(sizeof(struct clv_nvml_process_detail) == 32, "as the driver has it");
static_assert(sizeof(struct clv_nvml_detail_list) == 24, "as the driver has it");
static_assert(sizeof(struct clv_nvml_encoder_session) == 32, "as the driver has it");
static_assert(sizeof(struct clv_nvml_capture_session) == 48, "as the driver has it");
static_assert(sizeof(struct clv_nvml_process_use) == 32, "as the driver has it");
static_assert(sizeof(struct clv_nvml_process_use_info) == 40, "as the driver has it");
static_assert(sizeof(struct clv_nvml_use_list) == 24, "as the driver has it");
