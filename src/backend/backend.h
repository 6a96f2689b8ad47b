/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/closed.h"
#include "core/device/device.h"
#include "core/device/node.h"
#include "core/device/reading.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_step;

/* The interface to the drivers of one kind of device.  Calls block for as long as the
 * driver blocks, so the agent makes them in its worker process and never on its event
 * loop.  A backend is used by one thread at a time.
 *
 * Every call returns 0 or a negative errno, and then sets err to what failed, why, and
 * what would work: -EBUSY (in use), -EPERM (missing rights), -ENODEV (the device or its
 * driver is gone), -ENOSPC (no room), -ENOTSUP (not supported by this driver or version),
 * -ETIMEDOUT, -EIO (the driver failed without a reason). */
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
	/* Mandatory.  Opens the vendor's library or finds its files in sysfs; -ENODEV
	 * with the reason if there are none. */
	int (*probe)(struct clv_backend **ret, struct clv_error *err);
	/* Mandatory. */
	void (*free)(struct clv_backend *backend);

	/* One of these two is mandatory.  enumerate returns the devices whose shares a
	 * gate can enforce; the caller gives them names (gpu0...).  survey appends the
	 * devices that can be divided, with their partitions and holders.  A fault of one
	 * device is reported with clv_node_add_problem() or in its cannot_divide, so that
	 * the other devices are still shown. */
	int (*enumerate)(struct clv_backend *backend, struct clv_device_list *ret,
		struct clv_error *err);
	int (*survey)(struct clv_backend *backend, struct clv_node *node,
		struct clv_error *err);

	/* NULL if the driver keeps no device open between two calls.  Closes all devices,
	 * and opens none of these, which are copied, until it is called again.  -ENOTSUP
	 * with the reason: it cannot open the others without these, so it opens none. */
	int (*close)(struct clv_backend *backend, const struct clv_closed *closed,
		struct clv_error *err);

	/* Mandatory with survey.  Reads the device with this UUID again, in place; its
	 * name stays. */
	int (*read)(struct clv_backend *backend, struct clv_node_device *device,
		struct clv_error *err);

	/* NULL if the driver reports nothing.  Adds load, memory, processes and health to
	 * an initialised reading; cheap enough for a call every second.  Values that the
	 * driver does not report are left unchanged.  -ENODEV: the driver does not reach
	 * the device. */
	int (*sample)(struct clv_backend *backend, const struct clv_node_device *device,
		struct clv_reading *ret, struct clv_error *err);

	/* NULL if no driver enforces it.  Limits the device memory of a cgroup, which is
	 * named by the full path of its folder; UINT64_MAX removes the limit.  Returns 0
	 * only if the driver confirms the limit. */
	int (*limit_memory)(struct clv_backend *backend,
		const struct clv_node_device *device, const char *cgroup, uint64_t bytes,
		struct clv_error *err);

	/* The changes.  A member is NULL if the vendor has no such operation.  device is
	 * the last reading; after the call the caller reads the device again and
	 * compares.
	 */
	int (*set_mig_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, bool on, struct clv_error *err);
	int (*set_compute_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, enum clv_compute_mode mode,
		struct clv_error *err);
	/* Requests a memory mode, which takes effect with reload_driver. */
	int (*set_memory_mode)(struct clv_backend *backend,
		const struct clv_node_device *device, enum clv_memory_mode mode,
		struct clv_error *err);
	int (*reload_driver)(struct clv_backend *backend,
		const struct clv_node_device *device, struct clv_error *err);
	/* From 0 to a count, or from a count to 0; drivers refuse other changes. */
	int (*set_vf_count)(struct clv_backend *backend,
		const struct clv_node_device *device, uint32_t count,
		struct clv_error *err);
	/* Sets the type, quotas and driver of a function; unset members of quota are left
	 * unchanged. */
	int (*set_vf_quota)(struct clv_backend *backend,
		const struct clv_node_device *device, uint32_t number,
		const struct clv_vf_quota *quota, struct clv_error *err);
	/* Carries out a step of kind CREATE or CREATE_PART; of the step it reads profile,
	 * start, size, inside and has_parts (do not fill the partition with one part). An
	 * incomplete partition is destroyed before an error is returned. */
	int (*create)(struct clv_backend *backend, const struct clv_node_device *device,
		const struct clv_step *step, struct clv_error *err);
	/* Destroys a partition with its parts (inside is NULL), or a part of the
	 * partition inside.  A part that fills its partition is not listed in it: then
	 * both arguments are the partition. */
	int (*destroy)(struct clv_backend *backend, const struct clv_node_device *device,
		const struct clv_partition *partition, const struct clv_partition *inside,
		struct clv_error *err);
};

extern const struct clv_backend_ops clv_backend_amd;    /* sysfs of amdgpu */
extern const struct clv_backend_ops clv_backend_nvidia; /* libnvidia-ml.so.1 */
extern const struct clv_backend_ops clv_backend_opencl;
extern const struct clv_backend_ops clv_backend_sim;   /* a node from a file */
extern const struct clv_backend_ops clv_backend_sriov; /* sysfs of PCI, xe, i915, vGPU */

/* The root of sysfs: "/sys", or the value of CLEAVE_SYSFS (for tests).  Borrowed. */
const char *clv_backend_sysfs(void);
