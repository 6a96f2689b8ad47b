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

/* A node that is not there: what it has comes from a file that a person writes, how it is
 * divided from a state file that this backend writes.  docs/sim.md says what may be in
 * the first.  Plain data; the arrays of struct clv_sim are its own. */

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

/* What a change of the MIG mode takes. */
enum clv_sim_reset {
	CLV_SIM_RESET_NONE,
	CLV_SIM_RESET_ALLOWED, /* the driver does it, on an idle GPU */
	CLV_SIM_RESET_REFUSED, /* needed, but the GPU is passed through to this VM */
	_CLV_SIM_RESET_MAX,
};

/* What can be told to fail. */
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

/* A device that a node's file may name, as the table of models has it. */
struct clv_sim_product {
	const char *name;  /* in the file */
	const char *model; /* what its driver calls it */
	enum clv_sim_vendor vendor;
	const struct clv_mig_model *mig; /* NULL: it has none */
	const struct clv_xcp_model *xcp; /* likewise */
	uint64_t memory_bytes;
	uint32_t compute_units;
	enum clv_sim_reset reset;
	bool is_mig_lost_at_reboot;
	uint32_t vf_total; /* 0: none, unless the file says otherwise */
	enum clv_vf_framework vf_framework;
};

/* -EINVAL with the nearest name at the value's place. */
int clv_sim_product_read(
	struct clv_yaml_value value, struct clv_sim_product *ret, struct clv_error *err);
const char *clv_sim_vendor_to_string(enum clv_sim_vendor vendor);
/* The driver that a virtual function is bound to when nobody chose one. */
const char *clv_sim_vf_driver(const struct clv_sim_device *device);

/* --- The node --- */

/* A compute instance, in compute slices of its GPU instance. */
struct clv_sim_part {
	uint8_t start;
	uint8_t size;
};

/* A GPU instance; without parts it is incomplete. */
struct clv_sim_instance {
	uint8_t profile; /* index in the model */
	uint8_t start;
	uint8_t n_parts;
	struct clv_sim_part parts[CLV_SIM_PARTS_MAX];
};

/* How a device is divided. */
struct clv_sim_state {
	bool mig_on;
	bool mig_pending;
	uint8_t n_instances;
	struct clv_sim_instance instances[CLV_MIG_INSTANCES_MAX];
	enum clv_compute_mode compute;
	uint32_t memory;
	uint32_t requested_memory;
	uint32_t vf_count;
	struct clv_vf_quota vf[CLV_SIM_VFS_MAX]; /* function 1 is the first */
	uint32_t n_sets;
	cpu_set_t sets[CLV_SIM_SETS_MAX];
	uint32_t n_calls[_CLV_SIM_CALL_MAX];
};

struct clv_sim_device {
	struct clv_sim_product product;
	const struct clv_mig_model *mig; /* NULL: it has none */
	const struct clv_xcp_model *xcp; /* likewise */
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
	cpu_set_t cpus;
	uint32_t fail_at[_CLV_SIM_CALL_MAX]; /* 0: never */
	struct clv_sim_state begin;
	struct clv_sim_state state;
	struct clv_reading reading; /* without processes */
};

struct clv_sim_holder {
	uint32_t device;
	char part[CLV_PARTITION_NAME_MAX]; /* "3g.40gb@4/1c@0"; "": the device */
	struct clv_holder holder;
	uint64_t memory_bytes; /* 0: not said */
	double utilization;    /* NAN: not said */
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
/* Frees what it owns and zeroes it. */
void clv_sim_clear(struct clv_sim *sim);
/* An item of a list each; into is the struct clv_sim. */
int clv_sim_read_device(struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_sim_read_holder(struct clv_yaml_value value, void *into, struct clv_error *err);
/* Into a struct clv_sim_device. */
int clv_sim_read_sriov(struct clv_yaml_value value, void *into, struct clv_error *err);

/* --- node-readings.c --- */

/* Into a double, 0 to 1, and into a struct clv_reading that was begun. */
int clv_sim_read_percent(struct clv_yaml_value value, void *into, struct clv_error *err);
int clv_sim_read_reading(struct clv_yaml_value value, void *into, struct clv_error *err);
/* As the member of the vtable; the reading was begun.  -ENOMEM */
int clv_sim_sample(const struct clv_sim *sim, const struct clv_sim_device *device,
	const struct clv_node_device *seen, struct clv_reading *ret);

/* --- state-read.c --- */

/* As a device is that nobody has divided yet. */
void clv_sim_state_init(struct clv_sim_device *device);
/* Reads the map into device->state, which is as new. */
int clv_sim_state_read(
	struct clv_yaml_value map, struct clv_sim_device *device, struct clv_error *err);

/* --- read.c: values as the files of this backend have them --- */

/* Nothing in it that would need an escape in the state file or a message. */
int clv_sim_read_plain(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err);
int clv_sim_read_number(struct clv_yaml_value value, uint32_t least, uint32_t most,
	uint32_t *ret, struct clv_error *err);

/* For tables of keys: into is the member that the table names. */

/* The value itself, for what can be read only when all else is. */
int clv_sim_keep(struct clv_yaml_value value, void *into, struct clv_error *err);
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
/* A plain text of that member's size. */
#define CLV_SIM_DEFINE_READ_PLAIN(name, type, member)                                   \
	static int name(struct clv_yaml_value value, void *into, struct clv_error *err) \
	{                                                                               \
		return clv_sim_read_plain(                                              \
			value, into, sizeof(((type *)NULL)->member), err);              \
	}

/* --- state-text.c: the state of all devices --- */

/* As the node's file begins them. */
void clv_sim_begin(struct clv_sim *sim);
/* The same where the text does not speak of a device. */
int clv_sim_state_parse(
	struct clv_yaml_value root, struct clv_sim *sim, struct clv_error *err);
/* *ret is to be freed. */
int clv_sim_state_write(const struct clv_sim *sim, char **ret, struct clv_error *err);

/* --- state-file.c --- */

/* path NULL: the state is in memory alone, and each of these does nothing. */

int clv_sim_load(struct clv_sim *sim, const char *path, struct clv_error *err);
/* On the disk when it returns, and at no time half of it. */
int clv_sim_save(const struct clv_sim *sim, const char *path, struct clv_error *err);

/* --- show.c, show-partitions.c --- */

/* Fills ret, of which only the name is set.  -ENOMEM; then it is half filled. */
int clv_sim_show(const struct clv_sim *sim, const struct clv_sim_device *device,
	struct clv_node_device *ret);
/* A part of that. */
int clv_sim_show_partitions(
	const struct clv_sim_device *device, struct clv_node_device *ret);
/* Of a function, from 1. */
void clv_sim_vf_address(
	const struct clv_sim_device *device, uint32_t number, char ret[16]);

/* --- What is asked of a device, and the rules that answer it --- */

struct clv_sim_request {
	struct clv_sim *sim;
	struct clv_sim_device *device;
	const struct clv_node_device *seen; /* as it is now */
	/* What the call has of these. */
	uint32_t value; /* mode, count or number */
	const struct clv_step *step;
	const struct clv_vf_quota *quota;
	const struct clv_partition *partition;
	const struct clv_partition *inside;
};

/* Changes the state or leaves it as it was. */
typedef int (*clv_sim_rule)(const struct clv_sim_request *request, struct clv_error *err);

/* idle.c: -EBUSY with who it is. */
int clv_sim_check_idle(const struct clv_node_device *seen, struct clv_error *err);
int clv_sim_check_partition_idle(
	const struct clv_partition *partition, struct clv_error *err);
/* A device is divided in one way at a time. */
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
/* Whether it may stand beside those that are there, as for clv_sim_mig_create(). */
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
/* -EINVAL, -ERANGE */
int clv_sim_vf_count_check(
	const struct clv_sim_device *device, uint32_t count, struct clv_error *err);
/* Whether function number at + 1 may have it beside what the others have. */
int clv_sim_vf_quota_check(const struct clv_sim_device *device, size_t at,
	const struct clv_vf_quota *quota, struct clv_error *err);
/* Unless somebody gave quotas before, the driver gives equal ones. */
void clv_sim_vf_provision(struct clv_sim_device *device, uint32_t count);
/* By name or id; NULL: it offers none such. */
const struct clv_vgpu_type *clv_sim_type_find(
	const struct clv_sim_device *device, const char *name);

/* cores.c */
int clv_sim_cores_create(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_cores_destroy(const struct clv_sim_request *request, struct clv_error *err);
int clv_sim_cores_add(const struct clv_sim_device *device, struct clv_sim_state *state,
	const cpu_set_t *cpus, struct clv_error *err);
