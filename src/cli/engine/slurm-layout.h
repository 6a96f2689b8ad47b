/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_slurm_settings;

/* Divides a node for one job.  Both functions return 0, or an exit code after printing
 * the error. */

/* If the job has the node exclusively, saves the current layout and applies the one in
 * path.  Otherwise only restores a layout that an earlier job left. */
int clv_slurm_layout_prolog(const struct clv_slurm_settings *settings, const char *path);

/* Restores the layout that the prolog of this job saved. */
int clv_slurm_layout_epilog(const struct clv_slurm_settings *settings);
