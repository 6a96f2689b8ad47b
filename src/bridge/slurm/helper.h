/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* Starts `cleave slurm ...`, which does all that takes an agent or a library.  A slurmd
 * or slurmstepd is root, and lives longer than one should trust that much code to. */

#define CLV_SLURM_ARGUMENTS_MAX 32

/* NULL-terminated; [0] is the program. */
struct clv_slurm_command {
	const char *words[CLV_SLURM_ARGUMENTS_MAX];
	unsigned int n;
};

void clv_slurm_command_add(struct clv_slurm_command *command, const char *word);

/* Runs it to its end, with an environment that is none of the job's.  Returns its exit
 * code, with the last line that it said on stderr without "cleave: "; 125 and why when it
 * cannot be run. */
int clv_slurm_command_run(
	const struct clv_slurm_command *command, char *ret_line, size_t ret_bytes);

/* Starts it and does not wait; nobody is told what becomes of it. */
void clv_slurm_command_leave(const struct clv_slurm_command *command);
