/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* What slurm.conf and gres.conf have to say of a node, from the node as the agent's API
 * shows it. */

/* A share of a device is counted in hundredths of it. */
#define CLV_SLURM_GRES "cleave"
#define CLV_SLURM_GRES_PER_DEVICE 100u

struct clv_slurm_gres {
	const char *node; /* as Slurm calls it */
	const char *root; /* "" or, for tests, where /proc and /sys are */
};

/* Partitions as typed gres with their device files, shares as a number without any. */
void clv_slurm_gres_write(
	FILE *out, const struct clv_slurm_gres *how, const json_t *node);
