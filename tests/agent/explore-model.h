/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct world_question;

/* The model of the exploration: which partitions exist, and who uses them.  It shares no
 * code with the agent. */
#define N_GPUS 2
#define N_STARTS 2
#define PROFILE "1g.5gb"

struct model {
	bool is_there[N_GPUS][N_STARTS];
	bool is_lost[N_GPUS];
	bool is_used; /* gpu0/1g.5gb@0, by a program that cleave does not know */
	/* When the user's operation began; until then, now. */
	bool before[N_GPUS][N_STARTS];
	/* The layout was applied there, so the next agents apply it again. */
	bool is_kept[N_GPUS];
	bool is_made; /* gpu0/1g.5gb@0 was made for a lease */
	unsigned int n_processes;
};
extern struct model model;
extern bool target[N_GPUS][N_STARTS]; /* of the layouts */

/* Fails the test with the events that led here; in test-explore.c. */
void explore_must(bool is_so, const char *what);

struct clv_agent_device *model_device(unsigned int gpu, unsigned int start);
struct clv_lease *model_lease_on(unsigned int gpu, unsigned int start);
/* The node as plan_node() reads it. */
void model_describe(char *ret, size_t ret_bytes);
/* Carries out a step.  0, or the driver's error. */
int model_do_step(const struct world_question *question);
bool model_is_as(unsigned int gpu, const bool wanted[N_GPUS][N_STARTS]);
