/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places machine learning models on GPUs of one kind.  The memory that the weights leave
 * free on a GPU is for the caches of requests, so the pressure on a GPU is the demand of
 * its models divided by that memory.  The worst pressure is minimized. */

#define CLV_MODELS_MAX 64

struct clv_models_model {
	double size;   /* of the weights, in the unit of gpu_memory */
	double demand; /* requests a second over their latency */
};

struct clv_models_plan {
	double worst;                 /* pressure */
	uint16_t gpu[CLV_MODELS_MAX]; /* by model */
	bool is_proven; /* no plan is better by more than a part in a billion */
};

/* most_steps: bound on the search, each step some tens of nanoseconds; 0: 60,000.
 * Returns 0; -ENOSPC: found no placement in which the weights fit; -EINVAL: too many
 * models or GPUs, or no GPU. */
int clv_models_plan(const struct clv_models_model *models, size_t n_models,
	unsigned n_gpus, double gpu_memory, uint64_t most_steps,
	struct clv_models_plan *ret);
