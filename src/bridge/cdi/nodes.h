/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* The device nodes that a container needs for a lease, as CDI's deviceNodes.  lease is an
 * object of the API.  The caller owns the array.
 *
 * NVIDIA: /dev/nvidiaN, where N is the "Device Minor" of the GPU's UUID in
 * /proc/driver/nvidia/gpus/ADDRESS/information, the nodes that all GPUs share, and for a
 * MIG instance the two nodes of its capabilities (/proc/driver/nvidia/capabilities;
 * CUDA's MIG guide, "Device nodes").  The driver's libraries come from the image or from
 * NVIDIA's own CDI file.  AMD: /dev/kfd and the render node, that of the partition or the
 * one in /sys/bus/pci/devices/ADDRESS/drm.  Other devices have no nodes; nodes that do
 * not exist are left out. */
json_t *clv_cdi_nodes(const json_t *lease);

/* For tests: /proc, /sys and /dev are read below this folder.  Borrowed; NULL: "/". */
void clv_cdi_nodes_set_root(const char *root);
