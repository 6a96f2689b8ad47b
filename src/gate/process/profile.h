/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/lengths.h"

/* Under `cleave profile` the page in which completed commands are counted, else NULL. */
extern struct clv_lengths *clv_profile __attribute__((visibility("hidden")));

/* Maps the file that CLEAVE_PROFILE names, if any. */
void clv_profile_open(void);

/* Counts n commands that took took_ns together, after the device was idle for idle_ns. */
void clv_profile_add(uint64_t n, uint64_t took_ns, uint64_t idle_ns);
