/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct sy_function;
struct sy_node;

/* Sets the number of virtual functions without asking the driver whether it can; 0 or
 * -errno.  They go one by one: one that is open through VFIO is waited for, and those
 * before it are gone by then.  Meanwhile nobody else gets at the number, not even to read
 * it. */
int sy_sriov_set(struct sy_function *pf, unsigned n);

void sy_sriov_files(struct sy_function *f, struct sy_node *dir);
