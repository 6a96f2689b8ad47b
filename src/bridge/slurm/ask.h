/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* What slurmctld says of a job, and what it is told, through Slurm's own programs: no
 * library of Slurm's is needed then, of whichever release. */

enum clv_slurm_job {
	CLV_SLURM_JOB_OVER, /* or slurmctld does not know it */
	CLV_SLURM_JOB_LIVES,
	CLV_SLURM_JOB_UNKNOWN, /* slurmctld does not answer */
};

enum clv_slurm_job clv_slurm_ask_state(unsigned int job);

/* The job's comment, "" if it has none, and how many nodes it has.  -EIO: slurmctld does
 * not say. */
int clv_slurm_ask_comment(unsigned int job, char *ret, size_t ret_bytes,
	unsigned int *ret_nodes, struct clv_error *err);

/* Slurm takes no comment for a job that is over. */
int clv_slurm_tell_comment(unsigned int job, const char *text, struct clv_error *err);

/* Queues it again, or holds it until somebody releases it. */
int clv_slurm_tell_again(unsigned int job, bool hold, struct clv_error *err);

/* Whether the job has all of its nodes for itself.  1, 0, or -EIO. */
int clv_slurm_ask_exclusive(unsigned int job, struct clv_error *err);

/* The comment with " gpu_seconds[n1]=1.250" in it, in place of what it said of the same
 * name; the rest, of a person or of other nodes, stays.  -ENOSPC */
int clv_slurm_set_seconds(
	char *comment, size_t comment_bytes, const char *name, double seconds);

/* What it says of that name; -1: nothing. */
double clv_slurm_get_seconds(const char *comment, const char *name);
