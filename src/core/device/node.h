/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/device.h"
#include "core/gpu/mig.h"
#include "core/gpu/vf.h"
#include "core/gpu/xcp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A node as its drivers show it: what each device is, how it can be divided, how it is
 * divided now, and who uses which part.  Plain data, filled by backends and read by the
 * planner.  Texts are never NULL; arrays are owned by the struct that counts them. */

#define CLV_PROFILE_NAME_MAX 40
#define CLV_PARTITION_NAME_MAX 72 /* "gpu0/3g.20gb@4/1c@2" */
#define CLV_NODE_TEXT_MAX 128

/* How a device is divided.  One scheme at a time. */
enum clv_scheme {
	CLV_SCHEME_NONE,
	CLV_SCHEME_MIG,   /* NVIDIA: GPU instances */
	CLV_SCHEME_XCP,   /* AMD: accelerator partitions of a compute mode */
	CLV_SCHEME_VF,    /* SR-IOV virtual functions, of any vendor */
	CLV_SCHEME_CORES, /* a CPU device: disjoint sets of processors */
	_CLV_SCHEME_MAX,
	_CLV_SCHEME_INVALID = -22, /* -EINVAL */
};

const char *clv_scheme_to_string(enum clv_scheme scheme);
enum clv_scheme clv_scheme_from_string(const char *text);

/* Who keeps a device or a partition from being changed. */
struct clv_holder {
	char text[80];  /* for people: "lease train of bob", "process 4711 (python3)" */
	char lease[24]; /* its id, or "" for a process that has no lease */
	uint32_t pid;   /* 0: not known */
	bool is_ours;   /* a lease of the agent that asks */
};

struct clv_holders {
	struct clv_holder *items;
	size_t n;
};

/* A part of a device.  `start` and `size`: MIG, in units of the GPU's placement grid; a
 * compute instance, in compute slices of its GPU instance; XCP and VF, `start` is its
 * number (VFs from 1) and `size` is 1; cores, `size` is the number of processors and
 * `start` the lowest of them. */
struct clv_partition {
	char name[CLV_PARTITION_NAME_MAX];  /* "gpu0/1g.10gb@4" */
	char profile[CLV_PROFILE_NAME_MAX]; /* "1g.10gb", "CPX/NPS4", "vf:4", "cores:2" */
	char uuid[96];    /* what a program is told, "" if there is no such thing */
	char visible[16]; /* the number that it is told then, "" if there is none */
	char address[96]; /* VF: PCI address; XCP: "renderD129"; cores: "0-1,4"; MIG: the
			   * driver's numbers of the instances, "2/0" */
	uint32_t driver_id; /* MIG: of the instance */
	uint32_t start;
	uint32_t size;
	uint32_t compute_units;
	uint64_t memory_bytes;
	int32_t numa_node; /* of the processors that are near it; -1: not known */
	/* XCP: the part of the GPU's memory, from 0, that is its own and near it; -1: the
	 * memory is one, or it is not known. */
	int32_t memory_part;
	struct clv_holders holders;
	/* MIG: the compute instances, unless there is one alone that fills it. */
	struct clv_partition *parts;
	size_t n_parts;
	/* MIG: a GPU instance without a compute instance, which no program can use. */
	bool is_incomplete;
};

struct clv_mig_state {
	bool is_capable;
	bool is_absent; /* for certain: then it is off, and stays so */
	bool is_on;
	bool is_pending;   /* another mode comes with the next reset */
	bool needs_reset;  /* to be turned on or off (Ampere) */
	bool cannot_reset; /* nor may the driver do that: the GPU of a virtual machine */
	bool is_lost_at_reboot; /* the mode (Hopper and later) */
	/* The tables' or the driver's.  own_model: to be freed with the node. */
	const struct clv_mig_model *model;
	struct clv_mig_model *own_model;
};

struct clv_xcp_state {
	bool is_capable;
	const struct clv_xcp_model *model; /* NULL: a model that the tables lack */
	uint32_t dies;
	enum clv_compute_mode compute;
	uint32_t memory;            /* of enum clv_memory_mode */
	uint32_t requested_memory;  /* 0: no change waits for a driver reload */
	uint32_t compute_available; /* bits, 1 << enum clv_compute_mode */
	uint32_t memory_available;  /* of enum clv_memory_mode */
};

/* What a virtual function may have; 0 and "": not said, the driver's own choice. */
struct clv_vf_quota {
	uint64_t memory_bytes;
	uint32_t exec_quantum_ms;
	uint32_t preempt_timeout_us;
	uint32_t contexts;
	uint32_t doorbells;
	char priority[8]; /* "low", "normal", "high" */
	char type[48];    /* NVIDIA: the name of a vGPU type, or CLV_VGPU_NONE */
	char driver[24];  /* what it is bound to: "vfio-pci"; "": nothing is asked */
};

struct clv_vf {
	uint32_t number; /* from 1 */
	char address[16];
	char driver[24];         /* bound now, "" for none */
	int32_t iommu_group;     /* -1: none */
	uint32_t n_group_others; /* devices of the group that are not this one */
	struct clv_vf_quota quota;
	struct clv_holders holders;
};

/* A type of vGPU that the host's driver offers. */
struct clv_vgpu_type {
	char id[24]; /* "nvidia-1155", "1155" */
	char name[48];
	uint64_t memory_bytes;
	uint32_t max_instances; /* 0: not known */
};

struct clv_vf_state {
	bool is_capable;
	char why_not[CLV_NODE_TEXT_MAX];
	uint32_t total;  /* sriov_totalvfs */
	uint64_t counts; /* bit n - 1: n functions are allowed; 0: any up to total */
	enum clv_vf_framework framework;
	struct clv_vf *items; /* what there is now */
	size_t n;
	struct clv_vgpu_type *types;
	size_t n_types;
	bool has_all_types; /* also those that cannot be made now */
	bool is_mixed;      /* vGPUs of several sizes at once: heterogeneous mode */
};

struct clv_cores_state {
	bool is_capable;
	uint32_t total; /* processors that the device may use */
	uint16_t *ids;  /* their numbers, ascending */
};

struct clv_node_device {
	struct clv_device info;
	uint32_t index;       /* in the driver's order */
	char pci_address[16]; /* "0000:3b:00.0" or "" */
	char hive[24];        /* AMD: devices of one share an NPS change; "" alone */
	int32_t numa_node;    /* -1: not known */
	char cannot_divide[CLV_NODE_TEXT_MAX]; /* why no scheme is there, what to use */
	enum clv_scheme scheme;                /* how it is divided now */
	struct clv_mig_state mig;
	struct clv_xcp_state xcp;
	struct clv_vf_state vf;
	struct clv_cores_state cores;
	struct clv_partition *partitions;
	size_t n_partitions;
	struct clv_holders holders; /* of the device as a whole */
	bool is_cordoned;           /* nothing new may be put on it; no driver's word */
};

struct clv_node {
	char name[64];
	struct clv_node_device *devices;
	size_t n_devices;
	/* Why there are not more, one line each. */
	char (*problems)[256];
	size_t n_problems;
};

/* Frees what it owns and zeroes it. */
void clv_node_clear(struct clv_node *node);
void clv_node_device_clear(struct clv_node_device *device);

/* By name, UUID or PCI address; NULL if there is none. */
struct clv_node_device *clv_node_find(const struct clv_node *node, const char *name);

/* Each appends a zeroed element; NULL without memory. */
struct clv_node_device *clv_node_add(struct clv_node *node);
struct clv_partition *clv_node_add_partition(struct clv_node_device *device);
struct clv_partition *clv_node_add_part(struct clv_partition *partition);
struct clv_holder *clv_holders_add(struct clv_holders *holders);
/* -ENOMEM */
int clv_node_add_problem(struct clv_node *node, const char *text);

/* "gpu0/1g.10gb@4" */
void clv_partition_make_name(const char *device, const char *profile, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX]);
/* Of a part of it, "gpu0/3g.20gb@4/1c@2": size and start in compute slices. */
void clv_part_make_name(const char *partition, uint32_t size, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX]);

/* Names the device's partitions and their parts, once it has a name itself; where they
 * are is where it is, unless it was said. */
void clv_node_name_partitions(struct clv_node_device *device);

/* Anyone at all: holders of the partition or of its parts. */
bool clv_partition_is_held(const struct clv_partition *partition);

/* Whether programs know a device or partition by a number, which can become another one
 * when a device before it is divided. */
bool clv_node_is_numbered(const struct clv_node *node);

/* Where there is no device at all, the drivers' own words say why: they are added to
 * *err. */
void clv_node_add_problems(const struct clv_node *node, struct clv_error *err);
