/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;
struct clv_slurm_recipe;

/* In a task, before it becomes the job's program: carries the recipe out. */

/* The variables of the task, which is not the plugin's process's environment. */
struct clv_slurm_environment {
	/* 0, or below when it is not set or has no room. */
	int (*get)(void *userdata, const char *name, char *ret, size_t ret_bytes);
	/* 0, or below when it cannot be. */
	int (*set)(void *userdata, const char *name, const char *value);
	void *userdata;
};

/* As root: leaves the node's mount namespace for one of the task's own and mounts what
 * the recipe says.  Mounts that are made outside go on appearing inside. */
int clv_slurm_inside_mount(const struct clv_slurm_recipe *recipe, struct clv_error *err);

/* Variables and processors. */
int clv_slurm_inside_set(const struct clv_slurm_recipe *recipe,
	const struct clv_slurm_environment *environment, struct clv_error *err);

/* `value` before the list's other entries, of which those of its file's name are left
 * out: they are another lease's gate.  Separators are ':' and ' '.  -ENOSPC */
int clv_slurm_list_first(
	const char *list, const char *value, char *ret, size_t ret_bytes);
