/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;

/* The folder below which NVIDIA's driver is installed: "" for the host's root, or such as
 * "/run/nvidia/driver", where NVIDIA's GPU operator has it in a container.  In a pod the
 * host's folders have other paths. */
struct clv_cdi_root {
	const char *host; /* its path on the host */
	const char *here; /* its path for this process */
};

/* Adds the device nodes that a container needs for a device of a lease, as CDI's
 * deviceNodes.  device is an item of `devices` in the API's leases.  Other devices than
 * those of NVIDIA and AMD have no nodes.  -ENODEV if the device has a node that does not
 * exist.
 *
 * NVIDIA: /dev/nvidiaN, where N is the "Device Minor" of the GPU's UUID in
 * /proc/driver/nvidia/gpus/ADDRESS/information, the nodes that all GPUs share, and for a
 * MIG instance the two nodes of its capabilities (/proc/driver/nvidia/capabilities, or
 * /proc/driver/nvidia-caps/mig-minors; CUDA's MIG guide, "Device nodes").  AMD: /dev/kfd
 * and the render node, that of the partition or the one in
 * /sys/bus/pci/devices/ADDRESS/drm.  A node that is not in /dev is taken from the root's
 * dev folder.
 *
 * For tests CLEAVE_PROCFS and CLEAVE_SYSFS name folders in place of /proc and /sys. */
int clv_cdi_nodes(const json_t *device, const struct clv_cdi_root *root, json_t *nodes,
	struct clv_error *err);
