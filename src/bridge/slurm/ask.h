/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Queries and changes jobs with Slurm's own programs (squeue, scontrol), which needs no
 * library of a certain release of Slurm. */

enum clv_slurm_job {
	CLV_SLURM_JOB_OVER,    /* ended, or not known to slurmctld */
	CLV_SLURM_JOB_LIVES,   /* pending, running or not yet completed */
	CLV_SLURM_JOB_UNKNOWN, /* slurmctld does not answer */
};

enum clv_slurm_job clv_slurm_query_state(unsigned int job);

/* Reads the job's comment, "" if it has none, and its number of nodes.  -EIO: slurmctld
 * does not answer. */
int clv_slurm_query_comment(unsigned int job, char *ret, size_t ret_bytes,
	unsigned int *ret_nodes, struct clv_error *err);

/* Sets the job's comment.  Slurm refuses it for a job that is over.  -EIO, -ENOMEM. */
int clv_slurm_set_comment(unsigned int job, const char *text, struct clv_error *err);

/* Requeues the job; with hold it stays held until it is released.  -EIO. */
int clv_slurm_requeue(unsigned int job, bool hold, struct clv_error *err);

/* Whether the job has its nodes exclusively: 1, 0, or -EIO. */
int clv_slurm_query_exclusive(unsigned int job, struct clv_error *err);

/* Whether Slurm gives the job GPUs by its own gres, of the name "gpu": 1, 0, or -EIO. */
int clv_slurm_query_gpus(unsigned int job, struct clv_error *err);

/* Whether lists of TRES as squeue prints them name such gres. */
bool clv_slurm_has_gpus(const char *tres);

/* Sets "gpu_seconds[NAME]=1.250" in the comment, in place of an earlier value of that
 * name; the rest, from users or other nodes, stays.  -ENOSPC, -ENOMEM. */
int clv_slurm_set_seconds(
	char *comment, size_t comment_bytes, const char *name, double seconds);

/* The value of that name in the comment; -1: none. */
double clv_slurm_get_seconds(const char *comment, const char *name);
