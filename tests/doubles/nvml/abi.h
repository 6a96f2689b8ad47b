/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* The ABI of libnvidia-ml.so.1, declared independently: handles are opaque pointers,
 * everything else has the layout of the x86-64 ABI, as the asserts check. A versioned
 * struct starts with `version`: its size and, in the top byte, its number. */

struct dnv_handle;
struct dnv_event_set;

enum dnv_code {
	DNV_SUCCESS = 0,
	DNV_UNINITIALIZED = 1,
	DNV_INVALID_ARGUMENT = 2,
	DNV_NOT_SUPPORTED = 3,
	DNV_NO_PERMISSION = 4,
	DNV_NOT_FOUND = 6,
	DNV_INSUFFICIENT_SIZE = 7,
	DNV_DRIVER_NOT_LOADED = 9,
	DNV_TIMEOUT = 10,
	DNV_GPU_IS_LOST = 15,
	DNV_RESET_REQUIRED = 16,
	DNV_IN_USE = 19,
	DNV_INSUFFICIENT_RESOURCES = 23,
	DNV_ARGUMENT_VERSION_MISMATCH = 25,
	DNV_GPU_NOT_FOUND = 28,
};

#define DNV_VERSION(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)
#define DNV_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#define DNV_AT(type, member, bytes) \
	static_assert(offsetof(type, member) == (bytes), #type "." #member)

#define DNV_NONE_U32 0xffffffffU
#define DNV_NOT_AVAILABLE 0xffffffffffffffffULL
#define DNV_INIT_NO_GPUS 1U

struct dnv_pci_info {
	char legacy_id[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char id[32];
};
DNV_SIZE(struct dnv_pci_info, 68);

struct dnv_memory {
	uint64_t total, free, used;
};
DNV_SIZE(struct dnv_memory, 24);

struct dnv_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
DNV_SIZE(struct dnv_memory_v2, 40);

/* The first release had only the six counts. */
struct dnv_attributes_v1 {
	uint32_t sms, copy_engines, decoders, encoders, jpegs, ofas;
};
DNV_SIZE(struct dnv_attributes_v1, 24);

struct dnv_attributes {
	struct dnv_attributes_v1 counts;
	uint32_t gi_slices, ci_slices;
	uint64_t memory_mib;
};
DNV_SIZE(struct dnv_attributes, 40);

struct dnv_utilization {
	uint32_t gpu, memory;
};

struct dnv_event {
	struct dnv_handle *device;
	uint64_t type, data;
	uint32_t gi, ci;
};
DNV_SIZE(struct dnv_event, 32);
#define DNV_EVENT_XID 8U

struct dnv_process_v1 {
	uint32_t pid;
	uint64_t bytes;
};
DNV_SIZE(struct dnv_process_v1, 16);

/* Versions 2 and 3 of the calls. */
struct dnv_process {
	uint32_t pid;
	uint64_t bytes;
	uint32_t gi, ci; /* DNV_NONE_U32 outside MIG */
};
DNV_SIZE(struct dnv_process, 24);

struct dnv_process_utilization {
	uint32_t pid;
	uint64_t time_us;                      /* since 1970 */
	uint32_t sm, memory, encoder, decoder; /* percent */
};
DNV_SIZE(struct dnv_process_utilization, 32);

struct dnv_process_detail {
	struct dnv_process process;
	uint64_t protected_bytes;
};
DNV_SIZE(struct dnv_process_detail, 32);

struct dnv_detail_list {
	uint32_t version, mode, n;
	struct dnv_process_detail *items;
};
DNV_SIZE(struct dnv_detail_list, 24);

struct dnv_process_use_info {
	uint64_t time_us;
	uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
};
DNV_SIZE(struct dnv_process_use_info, 40);

struct dnv_use_list {
	uint32_t version, n;
	uint64_t since_us;
	struct dnv_process_use_info *items;
};
DNV_SIZE(struct dnv_use_list, 24);

struct dnv_accounting {
	uint32_t gpu, memory;
	uint64_t most_bytes, time_ms, start_us;
	uint32_t is_running, reserved[5];
};
DNV_SIZE(struct dnv_accounting, 56);

struct dnv_limits {
	const char *cgroup;
	uint64_t soft, hard, used;
};
DNV_SIZE(struct dnv_limits, 32);

struct dnv_placement {
	uint32_t start, size;
};
DNV_SIZE(struct dnv_placement, 8);

struct dnv_gi_info {
	struct dnv_handle *device;
	uint32_t id, profile_id;
	struct dnv_placement placement;
};
DNV_SIZE(struct dnv_gi_info, 24);

struct dnv_ci_info_v1 {
	struct dnv_handle *device, *gi;
	uint32_t id, profile_id;
};
DNV_SIZE(struct dnv_ci_info_v1, 24);

struct dnv_ci_info {
	struct dnv_ci_info_v1 v1;
	struct dnv_placement placement;
};
DNV_SIZE(struct dnv_ci_info, 32);

struct dnv_gi_profile_info {
	uint32_t id, p2p, slices, max, sms, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
};
DNV_SIZE(struct dnv_gi_profile_info, 48);

struct dnv_gi_profile_info_v2 {
	uint32_t version;
	uint32_t id, p2p, slices, max, sms, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
	char name[96];
};
DNV_SIZE(struct dnv_gi_profile_info_v2, 152);
DNV_AT(struct dnv_gi_profile_info_v2, memory_mib, 48);

struct dnv_gi_profile_info_v3 {
	uint32_t version;
	uint32_t id, slices, max, sms, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
	char name[96];
	uint32_t capabilities;
};
DNV_SIZE(struct dnv_gi_profile_info_v3, 152);
DNV_AT(struct dnv_gi_profile_info_v3, memory_mib, 40);
DNV_AT(struct dnv_gi_profile_info_v3, capabilities, 144);
#define DNV_GI_CAN_GFX 2U

struct dnv_ci_profile_info {
	uint32_t id, slices, max, sms, copy_engines, decoders, encoders, jpegs, ofas;
};
DNV_SIZE(struct dnv_ci_profile_info, 36);

/* Version 2 ends before `capabilities`. */
struct dnv_ci_profile_info_v3 {
	uint32_t version;
	struct dnv_ci_profile_info v1;
	char name[96];
	uint32_t capabilities;
};
DNV_SIZE(struct dnv_ci_profile_info_v3, 140);
DNV_AT(struct dnv_ci_profile_info_v3, capabilities, 136);
#define DNV_CI_PROFILE_INFO_V2 (136U | 2U << 24)
#define DNV_CI_CAN_GFX 1U
