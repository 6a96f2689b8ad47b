/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "base/yaml.h"
#include "core/plan/plan.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A simulated node.  Its devices are described by a file that a person writes
 * (docs/sim.md); how they are divided is in a state file that this backend writes.  Plain
 * data; the arrays of struct clv_sim are owned by it. */

#define CLV_SIM_DEVICES_MAX 1024
#define CLV_SIM_VFS_MAX 64 /* the bits of clv_vf_state.counts */
#define CLV_SIM_TYPES_MAX 16
#define CLV_SIM_PARTS_MAX 8
#define CLV_SIM_SETS_MAX 64

enum clv_sim_vendor {
	CLV_SIM_NVIDIA,
	CLV_SIM_AMD,
	CLV_SIM_INTEL,
	CLV_SIM_CPU,
};

/* Whether a change of the MIG mode needs a reset of the GPU. */
enum clv_sim_reset {
	CLV_SIM_RESET_NONE,
	CLV_SIM_RESET_ALLOWED, /* the driver resets an idle GPU */
	CLV_SIM_RESET_REFUSED, /* needed, but not possible in a VM with a passed-through
				  GPU */
	_CLV_SIM_RESET_MAX,
};

/* Calls that the key `fail` of a node's file can make fail. */
enum clv_sim_call {
	CLV_SIM_CREATE,
	CLV_SIM_DESTROY,
	CLV_SIM_MIG_MODE,
	CLV_SIM_COMPUTE_MODE,
	CLV_SIM_MEMORY_MODE,
	CLV_SIM_RELOAD,
	CLV_SIM_VF_COUNT,
	CLV_SIM_VF_QUOTA,
	_CLV_SIM_CALL_MAX,
};

extern const char *const clv_sim_calls[_CLV_SIM_CALL_MAX];

struct clv_sim_device;

/* --- product.c --- */

/* A model that a node's file may name: a GPU of core's table, or the CPU. */
struct clv_sim_product {
	const char *name;  /* in the file */
	const char *model; /* the driver's name for it */
	enum clv_sim_vendor vendor;
	const struct clv_mig_model *mig; /* NULL: no MIG */
	const struct clv_xcp_model *xcp; /* NULL: no compute partitions */
	uint64_t memory_bytes;
	uint32_t compute_units;
	enum clv_sim_reset reset;
	bool is_mig_lost_at_reboot;
	uint32_t vf_total; /* virtual functions; the node's file may override it */
	enum clv_vf_framework vf_framework;
};

/* -EINVAL: unknown model; the error suggests the nearest name and has the value's line.
 */
int clv_sim_product_read(
	struct clv_yaml_value value, struct clv_sim_product *ret, struct clv_error *err);
const char *clv_sim_vendor_to_string(enum clv_sim_vendor vendor);
/* The default driver of a virtual function. */
const char *clv_sim_vf_driver(const struct clv_sim_device *device);

/* --- The node --- */

/* A compute instance, in compute slices of its GPU instance. */
struct clv_sim_part {
	uint8_t start;
	uint8_t size;
};

/* A GPU instance; without parts it is incomplete. */
struct clv_sim_instance {
	uint8_t profile; /* index in the model's profiles */
	uint8_t start;
	uint8_t n_parts;
	struct clv_sim_part parts[CLV_SIM_PARTS_MAX];
};

/* The mutable state of a device, as the state file stores it. */
struct clv_sim_state {
	bool mig_on;
	bool mig_pending;
	uint8_t n_instances;
	struct clv_sim_instance instances[CLV_MIG_INSTANCES_MAX];
	enum clv_compute_mode compute;
	uint32_t memory;           /* enum clv_memory_mode */
	uint32_t requested_memory; /* pending until a reload; 0: none */
	uint32_t vf_count;
	struct clv_vf_quota vf[CLV_SIM_VFS_MAX]; /* function n is at n - 1 */
	uint32_t n_sets;
	cpu_set_t sets[CLV_SIM_SETS_MAX];
	uint32_t n_calls[_CLV_SIM_CALL_MAX]; /* counted if fail_at is set */
};

struct clv_sim_device {
	struct clv_sim_product product;
	const struct clv_mig_model *mig; /* NULL: no MIG */
	const struct clv_xcp_model *xcp; /* NULL: no compute partitions */
	uint32_t index;
	char uuid[64];
	char pci_address[16];
	char hive[24];
	int32_t numa_node;
	uint64_t memory_bytes;
	uint32_t compute_units;
	enum clv_sim_reset reset;
	uint32_t vf_total;
	uint64_t vf_counts;
	bool vf_is_mixed;
	enum clv_vf_framework vf_framework;
	struct clv_vgpu_type types[CLV_SIM_TYPES_MAX];
	uint32_t n_types;
	cpu_set_t cpus; /* processors of a CPU device, empty for GPUs */
	uint32_t fail_at[_CLV_SIM_CALL_MAX]; /* the number of the failing call; 0: none */
	struct clv_sim_state begin;          /* the initial state, from the node's file */
	struct clv_sim_state state;
	struct clv_reading reading; /* without processes */
};

struct clv_sim_holder {
	uint32_t device;                   /* index */
	char part[CLV_PARTITION_NAME_MAX]; /* "3g.40gb@4/1c@0"; "": the device */
	struct clv_holder holder;
	uint64_t memory_bytes; /* 0: unknown */
	double utilization;    /* NAN: unknown */
};

struct clv_sim {
	char name[64];
	struct clv_sim_device *devices;
	size_t n_devices;
	struct clv_sim_holder *holders;
	size_t n_holders;
};

/* --- node-file.c, node-device.c, node-sriov.c, node-holders.c --- */

int clv_sim_node_parse(
	struct clv_yaml_value root, struct clv_sim *ret, struct clv_error *err);
/* Frees the arrays and zeroes the struct. */
void clv_sim_clear(struct clv_sim *sim);
/* Each reads one item of a list; into is the struct clv_sim. */
int clv_sim_read_device(struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_sim_read_holder(struct clv_yaml_value value, void *into, struct clv_error *err);
/* into is a struct clv_sim_device. */
int clv_sim_read_sriov(struct clv_yaml_value value, void *into, struct clv_error *err);

/* --- node-readings.c --- */

/* into is a double from 0 to 1, or an initialised struct clv_reading. */
int clv_sim_read_percent(struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_sim_read_reading(struct clv_yaml_value value, void *into, struct clv_error *err);
/* The sample member of the vtable; seen is the last reading of the device.  -ENOMEM */
int clv_sim_sample(const struct clv_sim *sim, const struct clv_sim_device *device,
	const struct clv_node_device *seen, struct clv_reading *ret);

/* --- state-read.c --- */

/* Sets the state of an undivided device. */
void clv_sim_state_init(struct clv_sim_device *device);
/* Reads the map into device->state, which clv_sim_state_init() has set. */
int clv_sim_state_read(
	struct clv_yaml_value map, struct clv_sim_device *device, struct clv_error *err);

/* --- read.c: readers of values --- */

/* A text without characters that would need an escape in the state file or a message. */
int clv_sim_read_plain(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err);
int clv_sim_read_number(struct clv_yaml_value value, uint32_t least, uint32_t most,
	uint32_t *ret, struct clv_error *err);

/* Readers for tables of keys; into points to the member that the table names. */

/* Keeps the YAML value, to be read later. */
int clv_sim_read_value(struct clv_yaml_value value, void *into, struct clv_error *err);
/* bool */
int clv_sim_read_flag(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t from 1 */
int clv_sim_read_positive(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint64_t: "12G" */
int clv_sim_read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t: "32ms" */
int clv_sim_read_ms(struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_sim_read_us(struct clv_yaml_value value, void *into, struct clv_error *err);
/* uint32_t[_CLV_SIM_CALL_MAX]: a map of calls and numbers */
int clv_sim_read_calls(struct clv_yaml_value value, void *into, struct clv_error *err);
/* Defines a reader of a plain text into a member. */
#define CLV_SIM_DEFINE_READ_PLAIN(name, type, member)                                   \
	static int name(struct clv_yaml_value value, void *into, struct clv_error *err) \
	{                                                                               \
		return clv_sim_read_plain(                                              \
			value, into, sizeof(((type *)NULL)->member), err);              \
	}

/* --- state-text.c: the state of all devices --- */

/* Sets all devices to their initial state. */
void clv_sim_begin(struct clv_sim *sim);
/* Sets all states from the text; a device that it does not name gets its initial state.
 */
int clv_sim_state_parse(
	struct clv_yaml_value root, struct clv_sim *sim, struct clv_error *err);
/* The caller frees *ret. */
int clv_sim_state_write(const struct clv_sim *sim, char **ret, struct clv_error *err);

/* --- state-file.c --- */

/* If path is NULL the state is only in memory, and both calls do nothing. */

int clv_sim_load(struct clv_sim *sim, const char *path, struct clv_error *err);
/* Replaces the file atomically and syncs it to the disk. */
int clv_sim_save(const struct clv_sim *sim, const char *path, struct clv_error *err);

/* --- show.c, show-partitions.c --- */

/* Fills ret, whose info.name is set and all else is zero.  -ENOMEM; the caller clears ret
 * in any case. */
int clv_sim_fill(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node_device *ret);
/* Appends the partitions to ret; called by clv_sim_fill(). */
int clv_sim_fill_partitions(
	const struct clv_sim_device *device, struct clv_node_device *ret);
/* The PCI address of a virtual function; numbers begin with 1. */
void clv_sim_vf_address(
	const struct clv_sim_device *device, uint32_t number, char ret[16]);

/* --- Changes --- */

struct clv_sim_request {
	struct clv_sim *sim;
	struct clv_sim_device *device;
	const struct clv_node_device *seen; /* the current reading of the device */
	/* The arguments of the call; others are 0 or NULL. */
	uint32_t value; /* mode, count, or number of a function */
	const struct clv_step *step;
	const struct clv_vf_quota *quota;
	const struct clv_partition *partition;
	const struct clv_partition *inside;
};

/* Checks a change and applies it to the state; on error the change is not applied. */
typedef int (*clv_sim_rule)(const struct clv_sim_request *request, struct clv_error *err);

/* idle.c: -EBUSY with a holder. */
int clv_sim_check_idle(const struct clv_node_device *seen, struct clv_error *err);
int clv_sim_check_partition_idle(
	const struct clv_partition *partition, struct clv_error *err);
/* -EBUSY if the device is divided with another scheme. */
int clv_sim_check_scheme(const struct clv_node_device *seen, enum clv_scheme wanted,
	struct clv_error *err);

/* mig.c */
int clv_sim_set_mig_mode(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_mig_create(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_mig_create_part(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_mig_destroy(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_mig_destroy_part(
	const struct clv_sim_request *request, struct clv_error *err);
void clv_sim_mig_reload(struct clv_sim_device *device);
/* Adds an instance to a state, or a part to an instance.  -EINVAL: no such placement;
 * -ENOSPC: it overlaps others. */
int clv_sim_instance_add(const struct clv_sim_device *device, struct clv_sim_state *state,
	const struct clv_sim_instance *instance, struct clv_error *err);
int clv_sim_part_add(const struct clv_mig_model *model, struct clv_sim_instance *instance,
	struct clv_sim_part part, struct clv_error *err);
bool clv_sim_instance_is_whole(
	const struct clv_mig_model *model, const struct clv_sim_instance *instance);

/* xcp.c */
int clv_sim_set_compute_mode(
	const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_set_memory_mode(const struct clv_sim_request *request, struct clv_error *err);
void clv_sim_xcp_reload(struct clv_sim_device *device);

/* vf.c */
int clv_sim_set_vf_count(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_set_vf_quota(const struct clv_sim_request *request, struct clv_error *err);
/* -ERANGE: more than the device has; -EINVAL: the driver does not offer this number. */
int clv_sim_vf_count_check(
	const struct clv_sim_device *device, uint32_t count, struct clv_error *err);
/* Whether function number at + 1 can have the quota, given those of the others. */
int clv_sim_vf_quota_check(const struct clv_sim_device *device, size_t at,
	const struct clv_vf_quota *quota, struct clv_error *err);
/* Gives equal quotas to all functions, as drivers do, unless any quota is set. */
void clv_sim_vf_provision(struct clv_sim_device *device, uint32_t count);
/* Finds a vGPU type by name or id; NULL if there is none. */
const struct clv_vgpu_type *clv_sim_type_find(
	const struct clv_sim_device *device, const char *name);

/* cores.c */
int clv_sim_cores_create(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_cores_destroy(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_cores_add(const struct clv_sim_device *device, struct clv_sim_state *state,
	const cpu_set_t *cpus, struct clv_error *err);
