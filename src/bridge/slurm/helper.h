/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* Runs `cleave slurm ...`, which does everything that needs the agent or a library:
 * slurmd and slurmstepd are long-lived processes of root that should load as little code
 * as possible. */

#define CLV_SLURM_ARGUMENTS_MAX 32

/* A command line; words are borrowed, NULL-terminated, and the first is the program. */
struct clv_slurm_command {
	const char *words[CLV_SLURM_ARGUMENTS_MAX];
	unsigned int n;
};

void clv_slurm_command_add(struct clv_slurm_command *command, const char *word);

/* Runs the command and waits for it; its environment has nothing of the job's.  Returns
 * its exit code, and in ret_line the last line of its stderr without "cleave: "; or 125
 * and the reason if it cannot be run. */
int clv_slurm_command_run(
	const struct clv_slurm_command *command, char *ret_line, size_t ret_bytes);

/* Starts the command in the background; its result is lost. */
void clv_slurm_command_start(const struct clv_slurm_command *command);
