/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of names, each stored as a hash of 64 bits: with a hundred million names, two
 * different ones are taken for the same in one of 3,700 files.  11 bytes or more per
 * name.  Zeroed: empty. */
struct clv_names {
	uint64_t *hashes; /* 0: an empty slot */
	size_t n_hashes, n_slots;
};

/* A hash of all 64 bits, the same in every run. */
uint64_t clv_names_hash(const char *name);

/* Returns 1: the name is new; 0: it was in the set; -ENOMEM. */
int clv_names_add(struct clv_names *names, const char *name);
void clv_names_done(struct clv_names *names);
