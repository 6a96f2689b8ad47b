/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/device.h"
#include "core/device/node.h"
#include "core/device/reading.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_step;

/* A backend speaks to one kind of device.  Its calls may block for as long as a driver
 * does, so the agent makes them in a process of their own, never on its loop.  One thread
 * at a time.
 *
 * Every call returns 0 or a negative errno with what, why and what would work: -EBUSY
 * (somebody uses it), -EPERM (rights), -ENODEV (the device or its driver is gone),
 * -ENOSPC (no room for it), -ENOTSUP (this driver or version cannot), -ETIMEDOUT,
 * -EIO (the driver failed for no reason that it says). */
#define CLV_BACKEND_ABI 3u

struct clv_backend {
	const struct clv_backend_ops *ops;
};

struct clv_device_list {
	struct clv_device *items; /* owned */
	size_t n_items;
};

struct clv_backend_ops {
	uint32_t abi;
	const char *name;
	/* Mandatory.  Finds the vendor's library or files; -ENODEV with the reason if
	 * there are none. */
	int (*probe)(struct clv_backend **ret, struct clv_error *err);
	/* Mandatory. */
	void (*free)(struct clv_backend *backend);

	/* Of two, one is mandatory.  enumerate: the devices that programs can be held to
	 * shares of; names (gpu0...) are given by the caller.  survey: appends the
	 * devices that can be divided, with how they are divided now and who uses them.
	 * What is wrong with one device is said with clv_node_add_problem() or in its
	 * cannot_divide, and does not keep the others from being shown. */
	int (*enumerate)(struct clv_backend *backend, struct clv_device_list *ret,
		struct clv_error *err);
	int (*survey)(struct clv_backend *backend, struct clv_node *node,
		struct clv_error *err);

	/* Mandatory with survey.  Reads the device anew, in place: its UUID says which it
	 * is, its name stays. */
	int (*read)(struct clv_backend *backend, struct clv_node_device *device,
		struct clv_error *err);

	/* NULL where the driver tells nothing.  What the device does now and how it is,
	 * into a reading that was begun; it is cheap enough to be asked every second.
	 * What the driver does not say is left as it is; -ENODEV: it does not reach the
	 * device. */
	int (*sample)(struct clv_backend *backend, const struct clv_node_device *device,
		struct clv_reading *ret, struct clv_error *err);

	/* NULL where no driver holds it.  What the processes of a cgroup may have of the
	 * device's memory, by the full path of its folder; UINT64_MAX: all.  0: the
	 * driver says that it is so. */
	int (*limit_memory)(struct clv_backend *backend,
		const struct clv_node_device *device, const char *cgroup, uint64_t bytes,
		struct clv_error *err);

	/* NULL where the vendor has no such thing.  The device is as last read; after the
	 * call the caller reads it again and compares. */
	int (*set_mig_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, bool on, struct clv_error *err);
	int (*set_compute_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, enum clv_compute_mode mode,
		struct clv_error *err);
	/* Records the wish; it comes true with reload_driver. */
	int (*set_memory_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, enum clv_memory_mode mode,
		struct clv_error *err);
	int (*reload_driver)(struct clv_backend *backend,
		const struct clv_node_device *device, struct clv_error *err);
	/* From 0 to a count, or to 0. */
	int (*set_vf_count)(struct clv_backend *backend,
		const struct clv_node_device *device, uint32_t count,
		struct clv_error *err);
	/* The function's type, quotas and driver, those that are said. */
	int (*set_vf_quota)(struct clv_backend *backend,
		const struct clv_node_device *device, uint32_t number,
		const struct clv_vf_quota *quota, struct clv_error *err);
	/* A step of kind CREATE or CREATE_PART: profile, start, has_parts (leave it
	 * empty), inside.  What was made half is unmade before it returns an error. */
	int (*create)(struct clv_backend *backend, const struct clv_node_device *device,
		const struct clv_step *step, struct clv_error *err);
	/* The partition with its parts, or a part of one: then inside is its owner, and
	 * of one that a single part fills, partition and inside are the same. */
	int (*destroy)(struct clv_backend *backend, const struct clv_node_device *device,
		const struct clv_partition *partition, const struct clv_partition *inside,
		struct clv_error *err);
};

extern const struct clv_backend_ops clv_backend_amd;    /* sysfs of amdgpu */
extern const struct clv_backend_ops clv_backend_nvidia; /* libnvidia-ml.so.1 */
extern const struct clv_backend_ops clv_backend_opencl;
extern const struct clv_backend_ops clv_backend_sim;   /* a node from a file */
extern const struct clv_backend_ops clv_backend_sriov; /* sysfs of PCI, xe, i915, vGPU */

/* Where sysfs is: "/sys", or what CLEAVE_SYSFS says.  Borrowed. */
const char *clv_backend_sysfs(void);
