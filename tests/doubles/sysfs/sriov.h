/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct sy_function;
struct sy_node;

/* Sets the number of virtual functions without a check of the driver; 0 or -errno. They
 * are removed one by one: the removal waits for one that is open through VFIO, and those
 * before it are gone by then. Meanwhile the number cannot be written or even read. */
int sy_sriov_set(struct sy_function *pf, unsigned n);

void sy_sriov_files(struct sy_function *f, struct sy_node *dir);
