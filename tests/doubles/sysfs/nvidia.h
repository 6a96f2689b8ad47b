/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "world.h"

/* vGPU types and how many more fit on a GPU. Without the mixed mode all vGPUs of a GPU
 * have one size. */

const struct sy_vgpu_type *sy_vgpu_type_find(struct sy_function *f, uint64_t id);
/* Returns how many more of this type fit on the GPU. */
uint64_t sy_vgpu_room(struct sy_function *pf, const struct sy_vgpu_type *type);

/* The effect of sriov-manage. 0 or -errno: -EBUSY while a process uses the GPU, -ENODEV
 * for a device that is not such a GPU. */
int sy_vgpu_sriov(struct sy_function *pf, bool enable);
/* nvidia-smi vgpu -shm. */
int sy_vgpu_set_mixed(struct sy_function *pf, bool mixed);

void sy_vgpu_vfio_build(struct sy_function *vf, struct sy_node *dir);
void sy_mdev_parent_build(struct sy_function *parent, struct sy_node *dir);
void sy_mdev_build(void);
/* Whether mediated devices are created on this function. */
bool sy_mdev_is_parent(const struct sy_function *f);
void sy_mdev_forget(struct sy_function *parent);
