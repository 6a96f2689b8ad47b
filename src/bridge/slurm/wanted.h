/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_error;

/* What a job asks for, in the words of srun and sbatch.  The texts are borrowed from the
 * command line; they were read once, by the rules of `cleave run`, so that a wrong one is
 * refused where the job is submitted. */
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

/* The option without its dashes ("gpu-share"), that of `cleave slurm begin` for it, what
 * its value is called, and a line of help. */
struct clv_slurm_option {
	const char *name, *verb_option, *argument, *help;
};
extern const struct clv_slurm_option clv_slurm_options[_CLV_SLURM_WANT_MAX];

/* Checks a value and keeps it.  -EINVAL or -ERANGE with what is wrong and would work. */
int clv_slurm_wanted_set(struct clv_slurm_wanted *wanted, enum clv_slurm_want which,
	const char *text, struct clv_error *err);

bool clv_slurm_wanted_any(const struct clv_slurm_wanted *wanted);

/* Whether all of it together makes sense. */
int clv_slurm_wanted_check(const struct clv_slurm_wanted *wanted, struct clv_error *err);
