/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that were met, by a hash of 64 bits each: among a hundred million of them, two
 * that differ are taken for one in one of 3,700 files.  11 bytes or more a name.  Zeroed
 * is empty. */
struct clv_names {
	uint64_t *hashes; /* 0 is empty */
	size_t n_hashes, n_slots;
};

/* A hash of all 64 bits, the same in every run. */
uint64_t clv_names_hash(const char *name);

/* 1: new; 0: it was there; -ENOMEM. */
int clv_names_add(struct clv_names *names, const char *name);
void clv_names_done(struct clv_names *names);
