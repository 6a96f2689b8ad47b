/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* A recipe: the steps that put a task into its job's lease on this node.  `cleave slurm
 * begin` writes it once for a job and node, and the plugin carries it out in each task.
 * It is a text with a line for each step, in a folder that only root can write, so its
 * content is trusted. */

#define CLV_SLURM_STATE "/run/cleave-slurm"
#define CLV_SLURM_RECIPE "recipe" /* the file in the job's folder */
#define CLV_SLURM_GATE "lease.sock"
/* In place of the lease's socket in a job that gets no device: a text, which is the
 * reason in the gate's refusal. */
#define CLV_SLURM_DENIED "no-share-was-requested-with---gpu-share"
#define CLV_SLURM_ID_MAX 64
#define CLV_SLURM_ASKED_MAX 256

enum clv_slurm_step_kind {
	CLV_SLURM_SET,     /* set the variable `what` to `value` */
	CLV_SLURM_DEFAULT, /* the same, if the job has not set it and may use all
			      processors */
	CLV_SLURM_FIRST,   /* prepend `value` to the list in the variable `what` */
	CLV_SLURM_CPUS,    /* restrict the task to the processors `what` */
	CLV_SLURM_BIND,    /* bind-mount the file or folder `value` over `what` */
	_CLV_SLURM_STEP_MAX,
};

struct clv_slurm_step {
	enum clv_slurm_step_kind kind;
	char *what, *value;
};

struct clv_slurm_recipe {
	char lease[CLV_SLURM_ID_MAX]; /* the lease's id; "": none, the job asked for none
				       */
	char asked[CLV_SLURM_ASKED_MAX]; /* the options of the job's first step */
	unsigned int restarts;           /* the job's restart count at that time */
	struct clv_slurm_step *steps;
	size_t n_steps;
};

/* Adds a step.  The texts are copied and not NULL.  -ENOMEM; -EINVAL: a text has a tab or
 * a line break. */
int clv_slurm_recipe_add(struct clv_slurm_recipe *recipe, enum clv_slurm_step_kind kind,
	const char *what, const char *value);

/* Writes the recipe as a text, which the caller frees.  -ENOMEM. */
int clv_slurm_recipe_write(const struct clv_slurm_recipe *recipe, char **ret);

/* Parses a recipe; text is modified.  -EBADMSG: the text is not a recipe. */
int clv_slurm_recipe_parse(
	char *text, struct clv_slurm_recipe *ret, struct clv_error *err);

/* Reads the job's recipe from the folder of all jobs.  -ENOENT: the job has none. */
int clv_slurm_recipe_load(const char *state, unsigned int job,
	struct clv_slurm_recipe *ret, struct clv_error *err);

void clv_slurm_recipe_clear(struct clv_slurm_recipe *recipe);
#define _cleanup_recipe_ __attribute__((cleanup(clv_slurm_recipe_clear)))
