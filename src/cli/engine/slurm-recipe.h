/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_error;
struct clv_slurm_recipe;

/* Makes the files that a lease's tasks need, in this folder, and writes down what each
 * task has to do to be inside: what `cleave run` does itself (cli/launch/program.h). */
int clv_slurm_recipe_of(const json_t *lease, const char *folder,
	struct clv_slurm_recipe *recipe, struct clv_error *err);
