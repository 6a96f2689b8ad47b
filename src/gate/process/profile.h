/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/lengths.h"

/* While `cleave profile` watches: where commands that are complete are counted.  NULL
 * else. */
extern struct clv_lengths *clv_profile __attribute__((visibility("hidden")));

/* Looks for the file that CLEAVE_PROFILE names. */
void clv_profile_open(void);

/* n commands have taken took_ns together, after the device was left for idle_ns. */
void clv_profile_add(uint64_t n, uint64_t took_ns, uint64_t idle_ns);
