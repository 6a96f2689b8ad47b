/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The value that cleave run, or the gate of an ancestor, gave the program's variable: a
 * partition's number may have changed since. */
#define CLV_VISIBLE_SET "CLEAVE_VISIBLE"

/* Sets the environment variable that restricts what a vendor's runtime shows, in a
 * process that has the devices `names` (separated by commas).  A restriction that the
 * program itself has in the variable can only hide devices of the lease, never show
 * another; that also holds in a child that lost the list.  The first of the names has the
 * number n_before. */
void clv_visible_choose(const char *variable, const char *names, uint32_t n_before);
