/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a name comes twice among very many, in a little more than 4 bytes each: of
 * every name 44 bits of a hash are kept, and when all have been seen those that came
 * twice are looked for.  A few of them are different names with the same bits, so whoever
 * asks goes through the names once more, and then it is exact.  Zeroed is empty. */

struct clv_repeats {
	struct clv_repeats_chunk *
		*buckets; /* by the upper bits; the newest chunk first */
	uint64_t n;
	size_t n_chunks;
	/* Hashes that came twice, rising. */
	uint64_t *suspects;
	size_t n_suspects, room;
	/* Names that have such a hash, as far as the second pass has come. */
	char **seen;
	size_t n_seen;
};

int clv_repeats_add(struct clv_repeats *repeats, const char *name);
/* 1: some may have come twice, see clv_repeats_confirm(); 0: none did; -ENOMEM.  What was
 * added is forgotten. */
int clv_repeats_look(struct clv_repeats *repeats);
/* The names again, in their order.  1: this one was there before; 0, -ENOMEM. */
int clv_repeats_confirm(struct clv_repeats *repeats, const char *name);
/* All that it holds. */
size_t clv_repeats_bytes(const struct clv_repeats *repeats);
void clv_repeats_done(struct clv_repeats *repeats);
