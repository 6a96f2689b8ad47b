/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits how often something happens, for each key (a user, an address) and for all keys
 * together.  No I/O and no clock: the caller passes the time. */
struct clv_buckets;

/* burst at once, and then one each every_ns. */
struct clv_bucket_rule {
	uint32_t burst;
	uint64_t every_ns;
};

/* NULL: out of memory. */
struct clv_buckets *clv_buckets_new(
	const struct clv_bucket_rule *each, const struct clv_bucket_rule *all);
struct clv_buckets *clv_buckets_free(struct clv_buckets *buckets);

/* Whether it may happen once more for this key.  True: *ret_withheld is how often it was
 * false for the key since the last true. */
bool clv_buckets_take(struct clv_buckets *buckets, uint64_t key, uint64_t now_ns,
	uint64_t *ret_withheld);

/* How often it was false, for all keys. */
uint64_t clv_buckets_n_withheld(const struct clv_buckets *buckets);

/* A key for a text. */
uint64_t clv_bucket_key(const char *text);
