/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Random nodes and rules, in the texts of plan-world.h, so that a failed case can be read
 * and repeated. */

void random_seed(uint64_t seed);
uint32_t random_below(uint32_t limit);
/* Returns true with this probability in per cent. */
bool random_chance(uint32_t percent);

/* A line of a node: MIG in any state, with instances, parts, incomplete instances and
 * leases (a1, b1, ... of device 1), each of which may hold several of them. */
void random_mig(FILE *to, uint32_t device, const char *model);
void random_device(FILE *to, uint32_t device);

/* A rule for that device, or none. */
void random_mig_rule(FILE *to, uint32_t device, const char *model, uint32_t n_most);
void random_rule(FILE *to, const char *node_line, uint32_t device);
