/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct clv_common;

/* Whether a row is about a lease that is not of a replica which can move. */
bool clv_defrag_restarts_programs(const json_t *rows);

/* Carries out rows of a plan that fits, in their order: what is at `from` is destroyed,
 * and created at `to`.  The last row is the place of the request, an instance of its
 * own with makes_instance.  Replicas of services move; if a row is about another lease,
 * nothing is changed.  Asks on a
 * terminal, unless is_confirmed; elsewhere what would be destroyed needs is_confirmed.
 * Returns an exit code. */
int clv_defrag_apply(const struct clv_common *common, bool is_confirmed,
	const json_t *rows, bool makes_instance);
