/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_error;

/* What makes a task a part of its job's lease on this node: `cleave slurm begin` writes
 * it once per job and node, the plugin carries it out in each task.  A text with a line
 * for each step, in a folder that is root's alone, so that reading it needs no care for
 * what a user may have put there. */

#define CLV_SLURM_STATE "/run/cleave-slurm"
#define CLV_SLURM_RECIPE "recipe" /* the file in the job's folder */
#define CLV_SLURM_GATE "lease.sock"
#define CLV_SLURM_ID_MAX 64
#define CLV_SLURM_ASKED_MAX 256

enum clv_slurm_step_kind {
	CLV_SLURM_SET,     /* the variable `what` to `value` */
	CLV_SLURM_DEFAULT, /* the same where the job does not say it itself and may use
			      every processor */
	CLV_SLURM_FIRST, /* `value` first in the list `what`, and no other of its name */
	CLV_SLURM_CPUS,  /* only the processors `what` */
	CLV_SLURM_BIND,  /* the file or folder `value` over `what` */
	_CLV_SLURM_STEP_MAX,
};

struct clv_slurm_step {
	enum clv_slurm_step_kind kind;
	char *what, *value;
};

struct clv_slurm_recipe {
	char lease[CLV_SLURM_ID_MAX];    /* its id */
	char asked[CLV_SLURM_ASKED_MAX]; /* what the job's first step asked for */
	unsigned int restarts;           /* of the job, when it was written */
	struct clv_slurm_step *steps;
	size_t n_steps;
};

/* Neither text may be NULL; they are copied.  0 or -ENOMEM, -EINVAL for what no line can
 * hold. */
int clv_slurm_recipe_add(struct clv_slurm_recipe *recipe, enum clv_slurm_step_kind kind,
	const char *what, const char *value);

/* As a text, to be freed.  0 or -ENOMEM. */
int clv_slurm_recipe_write(const struct clv_slurm_recipe *recipe, char **ret);

/* -EBADMSG when it is none. */
int clv_slurm_recipe_parse(
	char *text, struct clv_slurm_recipe *ret, struct clv_error *err);

/* The job's, in that folder of all jobs.  -ENOENT: it has none. */
int clv_slurm_recipe_load(const char *state, unsigned int job,
	struct clv_slurm_recipe *ret, struct clv_error *err);

void clv_slurm_recipe_clear(struct clv_slurm_recipe *recipe);
#define _cleanup_recipe_ __attribute__((cleanup(clv_slurm_recipe_clear)))
