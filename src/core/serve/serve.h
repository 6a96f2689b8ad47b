/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plans the fewest GPUs that serve given rates of requests: the MIG instances of each
 * service and their places.  For GPUs of seven compute slices on a grid of eight (A100,
 * H100 and later).  Exact if each service has at most 4,096 combinations of instances
 * that waste no more than a GPU; of more, the first ones are considered. */

/* Sizes of instances in compute slices. */
enum {
	CLV_SERVE_1G,
	CLV_SERVE_2G,
	CLV_SERVE_3G,
	CLV_SERVE_4G,
	CLV_SERVE_7G,
	_CLV_SERVE_SIZES,
};

extern const uint8_t clv_serve_slices[_CLV_SERVE_SIZES];
/* Units of the grid that each takes: a 3g as many as a 4g. */
extern const uint8_t clv_serve_units[_CLV_SERVE_SIZES];

#define CLV_SERVE_GPUS_MAX 32
#define CLV_SERVE_SERVICES_MAX 256

struct clv_serve_service {
	double rate; /* requests a second */
	/* Requests a second of an instance of each size, within the latency of the
	 * service; 0: not possible. */
	double capacity[_CLV_SERVE_SIZES];
};

struct clv_serve_instance {
	uint16_t gpu, service;
	uint8_t size;  /* index of clv_serve_slices */
	uint8_t start; /* on the grid */
};

struct clv_serve_plan {
	struct clv_serve_instance *instances; /* freed by the caller */
	size_t n_instances;
	unsigned n_gpus;
	bool is_exact; /* no plan needs fewer GPUs */
};

/* Returns 0; -ERANGE: no instance can serve a service, or more than CLV_SERVE_GPUS_MAX
 * GPUs are needed; -EINVAL: more than CLV_SERVE_SERVICES_MAX services; -ENOMEM. */
int clv_serve_plan(const struct clv_serve_service *services, size_t n_services,
	struct clv_serve_plan *ret);
