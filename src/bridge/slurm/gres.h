/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Generates the lines of slurm.conf and gres.conf for a node, from the agent's object of
 * the node. */

/* The gres for shares counts hundredths of devices. */
#define CLV_SLURM_GRES "cleave"
#define CLV_SLURM_GRES_PER_DEVICE 100u

struct clv_slurm_gres {
	const char *node; /* Slurm's NodeName */
	const char *root; /* "", or for tests the folder that has /proc and /sys */
};

/* Writes the lines: partitions as typed gres with device files, shares as a count
 * without. */
void clv_slurm_gres_write(
	FILE *out, const struct clv_slurm_gres *how, const json_t *node);
