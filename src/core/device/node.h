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

/* A node as its drivers report it: what each device is, how it can be divided, how it is
 * divided now, and which holders use which part.  Plain data, filled by backends and read
 * by the planner.  Texts are never NULL; arrays are owned by the struct that counts
 * them. */

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

/* A lease or process that keeps a device or partition from being changed. */
struct clv_holder {
	/* shown to users: "lease train of bob", "process 4711 (python3)" */
	char text[80];
	char lease[24];  /* its id, or "" for a process that has no lease */
	uint32_t pid;    /* 0: not known */
	bool is_ours;    /* a lease of this agent */
	bool is_machine; /* a virtual machine, which takes a device from its driver */
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
	char uuid[96];    /* by which programs select it; "" if it has none */
	char visible[16]; /* the number by which programs select it instead; else "" */
	char address[96]; /* VF: PCI address; XCP: "renderD129"; cores: "0-1,4"; MIG: the
			   * driver's numbers of the instances, "2/0" */
	uint32_t driver_id; /* MIG: the driver's id of the instance */
	uint32_t start;
	uint32_t size;
	uint32_t compute_units;
	uint64_t memory_bytes;
	int32_t numa_node; /* nearest NUMA node; -1: unknown */
	/* XCP: the memory part, from 0, that belongs to it; -1: the memory is not
	 * divided, or unknown. */
	int32_t memory_part;
	struct clv_holders holders;
	/* MIG: the compute instances; none if a single one fills the GPU instance. */
	struct clv_partition *parts;
	size_t n_parts;
	/* MIG: a GPU instance without a compute instance, which no program can use. */
	bool is_incomplete;
};

struct clv_mig_state {
	bool is_capable;
	bool is_absent; /* certainly not capable: MIG is off and stays off */
	bool is_on;
	bool is_pending;   /* a change of the mode waits for the next reset */
	bool needs_reset;  /* a change of the mode needs a reset (Ampere) */
	bool cannot_reset; /* the driver cannot reset it: the GPU of a virtual machine */
	bool is_lost_at_reboot; /* the mode is lost at a reboot (Hopper and later) */
	/* From the tables or the driver.  own_model is owned and freed with the node. */
	const struct clv_mig_model *model;
	struct clv_mig_model *own_model;
};

struct clv_xcp_state {
	bool is_capable;
	const struct clv_xcp_model *model; /* NULL: not in the tables */
	uint32_t dies;
	enum clv_compute_mode compute;
	uint32_t memory;            /* one enum clv_memory_mode */
	uint32_t requested_memory;  /* takes effect with a driver reload; 0: none */
	uint32_t compute_available; /* mask of 1 << enum clv_compute_mode */
	uint32_t memory_available;  /* mask of enum clv_memory_mode */
};

/* Quotas of a virtual function; 0 or "": unset, the driver decides. */
struct clv_vf_quota {
	uint64_t memory_bytes;
	uint32_t exec_quantum_ms;
	uint32_t preempt_timeout_us;
	uint32_t contexts;
	uint32_t doorbells;
	char priority[8]; /* "low", "normal", "high" */
	char type[48];    /* NVIDIA: the name of a vGPU type, or CLV_VGPU_NONE */
	char driver[24];  /* driver to bind to: "vfio-pci"; "": any */
};

struct clv_vf {
	uint32_t number; /* from 1 */
	char address[16];
	char driver[24];         /* driver bound now, "" for none */
	int32_t iommu_group;     /* -1: none */
	uint32_t n_group_others; /* other devices in its IOMMU group */
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
	struct clv_vf *items; /* existing functions */
	size_t n;
	struct clv_vgpu_type *types;
	size_t n_types;
	bool has_all_types; /* types has also what cannot be created now */
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
	char pcie_root[16];   /* its root complex, "pci0000:3a"; "": not known */
	char hive[24];        /* AMD: devices of a hive change NPS together; "": none */
	int32_t numa_node;    /* -1: not known */
	/* why it has no scheme, and what to use instead */
	char cannot_divide[CLV_NODE_TEXT_MAX];
	enum clv_scheme scheme; /* how it is divided now */
	struct clv_mig_state mig;
	struct clv_xcp_state xcp;
	struct clv_vf_state vf;
	struct clv_cores_state cores;
	struct clv_partition *partitions;
	size_t n_partitions;
	struct clv_holders holders; /* of the device as a whole */
	bool is_cordoned; /* no new lease may use it; set by the agent, not a driver */
};

struct clv_node {
	char name[64];
	struct clv_node_device *devices;
	size_t n_devices;
	/* Why devices are missing, one line each. */
	char (*problems)[256];
	size_t n_problems;
};

/* Frees what it owns and zeroes it. */
void clv_node_clear(struct clv_node *node);
void clv_node_device_clear(struct clv_node_device *device);

/* By name, UUID or PCI address; NULL if there is none. */
struct clv_node_device *clv_node_find(const struct clv_node *node, const char *name);

/* "0000:3b:00.0" */
bool clv_is_pci_address(const char *text);

/* What identifies the device for ever: its UUID, or else its PCI address, or else (there
 * is nothing better) its name.  Borrowed. */
const char *clv_node_identity(const struct clv_node_device *device);

/* Each appends an element, zeroed but for NUMA nodes and memory parts (-1: unknown); NULL
 * if out of memory. */
struct clv_node_device *clv_node_add(struct clv_node *node);
struct clv_partition *clv_node_add_partition(struct clv_node_device *device);
struct clv_partition *clv_node_add_part(struct clv_partition *partition);
struct clv_holder *clv_holders_add(struct clv_holders *holders);
/* -ENOMEM */
int clv_node_add_problem(struct clv_node *node, const char *text);
bool clv_node_has_problem(const struct clv_node *node, const char *text);

/* "gpu0/1g.10gb@4" */
void clv_partition_make_name(const char *device, const char *profile, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX]);
/* Name of a compute instance, "gpu0/3g.20gb@4/1c@2": size and start in compute slices. */
void clv_part_make_name(const char *partition, uint32_t size, uint32_t start,
	char ret[CLV_PARTITION_NAME_MAX]);

/* Names the partitions of a named device and their parts.  Partitions without a NUMA node
 * get that of the device. */
void clv_node_name_partitions(struct clv_node_device *device);

/* The I/O die of its device, from 0, that an XCP partition is on; -1: unknown or several.
 */
int32_t clv_partition_io_die(
	const struct clv_node_device *device, const struct clv_partition *partition);

/* Whether the partition or one of its parts has a holder. */
bool clv_partition_is_held(const struct clv_partition *partition);

/* Whether programs select devices or partitions by a number, which can change when a
 * device before it is divided. */
bool clv_node_is_numbered(const struct clv_node *node);

/* If the node has no device, appends the problems that explain it to *err. */
void clv_node_add_problems(const struct clv_node *node, struct clv_error *err);
