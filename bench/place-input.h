/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "simulate/trace.h"

/* Fleets and traces for the benches of placement.  Every function ends the program with a
 * message if it cannot do its work. */

struct place_input {
	struct clv_fleet *fleet;
	struct clv_trace_item *items;
	size_t n_items;
	struct clv_workload workload; /* of all items, cut at 95 % */
};

/* Reads a fleet and a trace in the format of docs/placement.md. */
void place_input_read(const char *nodes, const char *trace, struct place_input *ret);
/* Draws a fleet and a trace: kinds of node, sizes, models and frequencies by the seed. */
void place_input_draw(uint64_t seed, struct place_input *ret);
/* The same fleet with the models that a trace for it may name, and that trace's items. */
void place_input_read_trace(
	const char *trace, const struct clv_fleet *fleet, struct place_input *ret);
void place_input_done(struct place_input *input);

/* A copy of the fleet with its nodes in another order. */
struct clv_fleet *place_input_ordered(
	const struct clv_fleet *fleet, const uint32_t *order, size_t n);

void place_die(const char *what) __attribute__((noreturn));

/* A generator whose sequence depends on the seed alone. */
struct place_random {
	uint64_t state;
};

uint64_t place_random_next(struct place_random *random);
uint32_t place_random_below(struct place_random *random, uint32_t limit);
/* At least 0, below 1. */
double place_random_part(struct place_random *random);
void place_random_shuffle(struct place_random *random, uint32_t *numbers, size_t n);
