/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds duplicates among very many names, with little more than 4 bytes for each.  The
 * first pass keeps 44 bits of a hash of every name, and then looks for equal hashes.
 * Some of these are of different names, so a second pass over the names makes the result
 * exact.  Zeroed: empty. */

struct clv_repeats {
	/* by the upper bits of the hash; the newest chunk first */
	struct clv_repeats_chunk **buckets;
	uint64_t n;
	size_t n_chunks;
	/* Hashes that occurred twice, ascending: at most half as many as names, so that
	 * they need no more memory than the first pass did. */
	uint64_t *suspects;
	size_t n_suspects, room;
	/* By suspect: the names with its hash that the second pass has seen. */
	struct clv_repeats_name **seen;
};

/* The first pass.  Returns 0 or -ENOMEM. */
int clv_repeats_add(struct clv_repeats *repeats, const char *name);
/* Ends the first pass and frees its hashes.  Returns 1: there may be duplicates, see
 * clv_repeats_check_again(); 0: there are none; -ENOMEM. */
int clv_repeats_end_first_pass(struct clv_repeats *repeats);
/* The second pass: all names again, in their order.  Returns 1: this name appeared
 * before; 0, -ENOMEM. */
int clv_repeats_check_again(struct clv_repeats *repeats, const char *name);
/* Its size in memory, in bytes, without names of the second pass. */
size_t clv_repeats_bytes(const struct clv_repeats *repeats);
void clv_repeats_done(struct clv_repeats *repeats);
