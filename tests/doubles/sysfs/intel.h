/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "world.h"

/* The resources of virtual functions under a driver for Intel's GPUs, by the rules of
 * xe's xe_gt_sriov_pf_config.c. Three interfaces show the same numbers: xe's sriov_admin,
 * xe's debugfs, and i915's iov. */

struct sy_intel_rule {
	uint64_t align; /* values are rounded up to a multiple */
	uint64_t clamp; /* larger ones become this; 0: no such limit */
	bool only_main; /* the media GT lacks it */
	bool is_shared; /* divided among all functions */
	const char *quota,
		*spare; /* names for virtual functions and for the physical one */
};
extern const struct sy_intel_rule sy_intel_rules[SY_RESOURCE_MAX];

/* Function 0 is the physical one. 0 or -errno; a quota that does not fit is lost, as in
 * the driver, which releases the old one first. */
struct sy_function *sy_intel_function(struct sy_function *pf, unsigned number);
int sy_intel_set(
	struct sy_function *f, enum sy_resource resource, unsigned gt, uint64_t value);
int sy_intel_set_all_gts(
	struct sy_function *f, enum sy_resource resource, uint64_t value);

enum { SY_LOW, SY_NORMAL, SY_HIGH };
extern const char *const sy_priority_names[];

void sy_sriov_admin_build(struct sy_function *pf, struct sy_node *dir);
void sy_debugfs_build(struct sy_function *pf);
void sy_iov_build(struct sy_function *pf, struct sy_node *card);
