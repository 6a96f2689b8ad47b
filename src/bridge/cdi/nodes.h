/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* The device nodes that a container needs for a lease, as CDI's deviceNodes.
 *
 * NVIDIA: /dev/nvidiaN by the "Device Minor" that
 * /proc/driver/nvidia/gpus/ADDRESS/information says for the GPU's UUID, the nodes that
 * all GPUs share, and for a MIG instance the two of its capabilities
 * (/proc/driver/nvidia/capabilities; CUDA's MIG guide, "Device nodes").  The driver's
 * libraries come from the image or from NVIDIA's own CDI. AMD: /dev/kfd and the render
 * node, by /sys/bus/pci/devices/ADDRESS/drm or the partition's own. Others, and what is
 * not there: none.  The caller owns the array. */
json_t *clv_cdi_nodes(const json_t *lease);

/* For tests: /proc, /sys and /dev below this folder.  Borrowed; NULL: the machine's. */
void clv_cdi_nodes_look_below(const char *root);
