/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;

/* The options of a job for srun, sbatch and salloc.  Values are checked by the rules of
 * `cleave run` at submission and stored as texts. */
enum clv_slurm_want {
	CLV_SLURM_SHARE,
	CLV_SLURM_MEMORY,
	CLV_SLURM_CLASS,
	CLV_SLURM_PROFILE,
	_CLV_SLURM_WANT_MAX,
};

struct clv_slurm_wanted {
	char texts[_CLV_SLURM_WANT_MAX][64]; /* "": not asked for */
};

struct clv_slurm_option {
	const char *name;        /* Slurm's option without dashes, "gpu-share" */
	const char *verb_option; /* the option of `cleave slurm begin` */
	const char *argument;    /* the name of its value in the help */
	const char *help;
};
extern const struct clv_slurm_option clv_slurm_options[_CLV_SLURM_WANT_MAX];

/* Checks and stores a value.  -EINVAL, -ERANGE. */
int clv_slurm_wanted_set(struct clv_slurm_wanted *wanted, enum clv_slurm_want which,
	const char *text, struct clv_error *err);

bool clv_slurm_wanted_any(const struct clv_slurm_wanted *wanted);

/* Checks the combination of options.  -EINVAL. */
int clv_slurm_wanted_check(const struct clv_slurm_wanted *wanted, struct clv_error *err);
