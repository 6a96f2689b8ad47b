/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;
struct clv_slurm_recipe;

/* Carries out the recipe in a task, before it executes the job's program. */

/* Access to the variables of the task, which are not the environment of the plugin's
 * process. */
struct clv_slurm_environment {
	/* Returns 0, or a negative errno if the variable is not set or does not fit. */
	int (*get)(void *userdata, const char *name, char *ret, size_t ret_bytes);
	/* Returns 0 or a negative errno. */
	int (*set)(void *userdata, const char *name, const char *value);
	void *userdata;
};

/* Moves the task to a new mount namespace and makes the recipe's mounts; needs root.
 * Later mounts of the node still appear in the namespace (slave propagation). */
int clv_slurm_inside_mount(const struct clv_slurm_recipe *recipe, struct clv_error *err);

/* Sets the recipe's variables and processor affinity. */
int clv_slurm_inside_set(const struct clv_slurm_recipe *recipe,
	const struct clv_slurm_environment *environment, struct clv_error *err);

/* Prepends `value` to a list with the separators ':' and ' '.  Entries with the same file
 * name are removed, because they are another lease's gate.  -ENOSPC */
int clv_slurm_list_first(
	const char *list, const char *value, char *ret, size_t ret_bytes);
