/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/launch/lease-request.h"

struct clv_slurm_settings {
	struct clv_lease_settings request;
	const char *user;
	const char *state;
	const char *kept;
	const char *node;
	uint64_t job;
	uint64_t pid;
	uint64_t restarts;
	bool hold;
};

/* The lease of a Slurm job on this node.  Each job that has one has a folder below
 * settings->state, root's alone: what its tasks are covered with, and the recipe
 * (bridge/slurm/recipe.h).  All return an exit code after having said why. */

/* Makes the job's lease, unless it is there, and lets settings->pid and what that starts
 * into it. */
int clv_slurm_job_begin(const struct clv_slurm_settings *settings);

/* Writes into the job's comment for how long its lease has held the device. */
int clv_slurm_job_account(const struct clv_slurm_settings *settings);

/* Ends it, with what is still attached, and says for how long it held the device. */
int clv_slurm_job_end(const struct clv_slurm_settings *settings);

/* Ends those whose jobs are over. */
int clv_slurm_job_sweep(const struct clv_slurm_settings *settings);
