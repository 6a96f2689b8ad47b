/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* The figures of a simulation that is drawn several times: their means, and between which
 * figures one more draw is. */

/* by_policy: a list for each policy, of the rows of its draws, in the same order for all;
 * at least one policy and two draws.  The seeds follow each other.  Returns an exit
 * code. */
int clv_draws_show(const char *format, const json_t *by_policy, uint64_t first_seed);
