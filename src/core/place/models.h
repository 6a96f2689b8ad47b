/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Models that share GPUs of one kind: what the weights leave of a GPU's memory is for the
 * requests' caches, so the pressure on a GPU is what its models are asked for over what
 * they leave.  The worst pressure is made as small as it can be. */

#define CLV_MODELS_MAX 64

struct clv_models_model {
	double size;   /* of the weights, in the unit of gpu_memory */
	double demand; /* requests a second over their latency */
};

struct clv_models_plan {
	double worst;                 /* pressure */
	uint16_t gpu[CLV_MODELS_MAX]; /* by model */
	bool is_proven;               /* there is none better, to a part in a billion */
};

/* most_steps: of the search, each some tens of nanoseconds; 0: 60,000.  0; -ENOSPC: no
 * way was found to fit the weights; -EINVAL: too many models, or none of a GPU. */
int clv_models_plan(const struct clv_models_model *models, size_t n_models,
	unsigned n_gpus, double gpu_memory, uint64_t most_steps,
	struct clv_models_plan *ret);
