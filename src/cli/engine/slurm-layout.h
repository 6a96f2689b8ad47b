/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_slurm_settings;

/* A node that is divided for one job.  Both return an exit code after having said why. */

/* Applies the layout, if the job has the node for itself, and keeps what was there
 * before.  For a job that shares the node it does nothing. */
int clv_slurm_layout_prolog(const struct clv_slurm_settings *settings, const char *path);

/* Puts back what the prolog of this job found. */
int clv_slurm_layout_epilog(const struct clv_slurm_settings *settings);
