/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;
struct clv_slurm_recipe;

/* Creates in folder the files that the lease's tasks need, and fills the recipe with the
 * steps by which each task enters the lease, as `cleave run` does itself
 * (cli/launch/program.h).  0 or -errno. */
int clv_slurm_recipe_of(const json_t *lease, const char *folder,
	struct clv_slurm_recipe *recipe, struct clv_error *err);

/* The same for a job without a lease, whose tasks get no device: the gate refuses them,
 * and /dev/null covers the device nodes of GPUs.  0 or -errno. */
int clv_slurm_recipe_deny(
	const char *folder, struct clv_slurm_recipe *recipe, struct clv_error *err);
