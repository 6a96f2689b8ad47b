/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sy_amd;
struct sy_function;
struct sy_node;

/* The rules of aqua_vanjaram.c, as tables; pure. */

/* Number of devices in the mode; 0: this number of dies does not have the mode. */
unsigned sy_amd_parts(const struct sy_amd *amd, uint64_t mode);
/* The memory modes (bits) that the mode allows, of those that exist. */
unsigned sy_amd_beside(const struct sy_amd *amd, uint64_t mode);
bool sy_amd_may_switch(const struct sy_amd *amd, uint64_t mode);
/* The current number of memory partitions. */
unsigned sy_amd_memory_parts(const struct sy_amd *amd);
/* The driver's automatic mode for a memory mode; SY_COMPUTE_MAX for none. */
uint64_t sy_amd_auto_mode(const struct sy_amd *amd);
/* Whether the device can be partitioned at all. */
bool sy_amd_is_partitionable(const struct sy_amd *amd);

/* The number of DRM devices of a partitionable device, in every mode. */
#define SY_DRM_DEVICES 8

bool sy_amd_find_model(struct sy_function *f, const char *model);

/* compute_partition_config. */
void sy_amd_config_build(struct sy_function *f, struct sy_node *dir);

/* --- The compute driver: /class/kfd --- */

/* The device leaves the topology, and returns at its end. */
void sy_kfd_renew(struct sy_function *f);
void sy_kfd_build(void);
