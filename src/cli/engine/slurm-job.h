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
	const char *unrequested; /* the job has no option of cleave: "deny" or "lease" */
};

/* The lease of a Slurm job on this node.  A job with a lease has a folder below
 * settings->state, which only root can write, with the files that its tasks mount and the
 * recipe (bridge/slurm/recipe.h).  All functions return 0, or an exit code after printing
 * the error. */

/* Creates the job's lease, unless it exists, and admits settings->pid and its children to
 * the lease. */
int clv_slurm_job_begin(const struct clv_slurm_settings *settings);

/* Writes into the job's comment for how many seconds its lease has held the device. */
int clv_slurm_job_account(const struct clv_slurm_settings *settings);

/* Ends the job's lease and its attached processes, and prints for how many seconds the
 * lease held the device. */
int clv_slurm_job_end(const struct clv_slurm_settings *settings);

/* Ends the leases of all jobs that are over. */
int clv_slurm_job_sweep(const struct clv_slurm_settings *settings);
