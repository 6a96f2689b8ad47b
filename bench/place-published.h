/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "place-input.h"

#include "core/place/policy.h"

/* "Fragmentation gradient descent" with the arithmetic of its published program, so that
 * replays of its experiment agree to the last decision.  core's policy fgd is the same
 * rule with sums of integers.  The two differ where a placement strands exactly nothing:
 * the published sums of floating-point numbers then differ by a rounding error or by
 * none, and the score is 49 or 50. */
extern const struct clv_place_policy place_published_fgd;

/* Sets the typical requests: of a trace, in which "A|B" and "A|B|B" are different, or if
 * trace is NULL of the input's items.  There is one set, because a policy has no state of
 * its own. */
void place_published_begin(const char *trace, const struct place_input *input);
