/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "world.h"

/* vGPU types and what of them still fits on a GPU.  Without the mixed mode all vGPUs of a
 * GPU have one size. */

const struct sy_vgpu_type *sy_vgpu_type_find(struct sy_function *f, uint64_t id);
/* How many more of this type the GPU takes. */
uint64_t sy_vgpu_room(struct sy_function *pf, const struct sy_vgpu_type *type);

/* What sriov-manage does.  0 or -errno: -EBUSY while somebody uses the GPU, -ENODEV for
 * what is no such GPU. */
int sy_vgpu_sriov(struct sy_function *pf, bool enable);
/* nvidia-smi vgpu -shm. */
int sy_vgpu_set_mixed(struct sy_function *pf, bool mixed);

void sy_vgpu_vfio_build(struct sy_function *vf, struct sy_node *dir);
void sy_mdev_parent_build(struct sy_function *parent, struct sy_node *dir);
void sy_mdev_build(void);
/* Whether this function is where mediated devices are made. */
bool sy_mdev_is_parent(const struct sy_function *f);
void sy_mdev_forget(struct sy_function *parent);
