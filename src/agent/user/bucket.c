/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets in a table of fixed size, so that an attacker with many keys uses no more
 * memory: the key that was seen longest ago makes room.  What it could gain by that, the
 * bucket for all keys limits. */
#include "agent/user/bucket.h"

#include "base/hash.h"
#include <stdlib.h>

#define KEYS_MAX 256u

struct bucket {
	uint64_t key;
	uint64_t seen_ns;
	/* The bucket is full at this time; it has room until burst * every_ns before. */
	uint64_t full_ns;
	uint64_t n_withheld;
	bool is_used;
};

struct clv_buckets {
	struct clv_bucket_rule each, all;
	struct bucket of_all;
	struct bucket items[KEYS_MAX];
	uint64_t n_withheld;
};

struct clv_buckets *clv_buckets_new(
	const struct clv_bucket_rule *each, const struct clv_bucket_rule *all)
{
	struct clv_buckets *buckets = calloc(1, sizeof(*buckets));

	if (!buckets)
		return NULL;
	buckets->each = *each;
	buckets->all = *all;
	return buckets;
}

struct clv_buckets *clv_buckets_free(struct clv_buckets *buckets)
{
	free(buckets);
	return NULL;
}

static struct bucket *find(struct clv_buckets *buckets, uint64_t key)
{
	struct bucket *oldest = &buckets->items[0];

	for (size_t i = 0; i < KEYS_MAX; i++) {
		struct bucket *bucket = &buckets->items[i];

		if (bucket->is_used && bucket->key == key)
			return bucket;
		if (!bucket->is_used || bucket->seen_ns < oldest->seen_ns)
			oldest = bucket;
		if (!bucket->is_used)
			break;
	}
	*oldest = (struct bucket){.key = key, .is_used = true};
	return oldest;
}

static bool has_room(
	const struct bucket *bucket, const struct clv_bucket_rule *rule, uint64_t now_ns)
{
	return bucket->full_ns <= now_ns + (rule->burst - 1) * rule->every_ns;
}

static void fill(
	struct bucket *bucket, const struct clv_bucket_rule *rule, uint64_t now_ns)
{
	if (bucket->full_ns < now_ns)
		bucket->full_ns = now_ns;
	bucket->full_ns += rule->every_ns;
}

bool clv_buckets_take(struct clv_buckets *buckets, uint64_t key, uint64_t now_ns,
	uint64_t *ret_withheld)
{
	struct bucket *bucket = find(buckets, key);

	bucket->seen_ns = now_ns;
	if (!has_room(bucket, &buckets->each, now_ns) ||
		!has_room(&buckets->of_all, &buckets->all, now_ns)) {
		bucket->n_withheld++;
		buckets->n_withheld++;
		return false;
	}
	fill(bucket, &buckets->each, now_ns);
	fill(&buckets->of_all, &buckets->all, now_ns);
	*ret_withheld = bucket->n_withheld;
	bucket->n_withheld = 0;
	return true;
}

uint64_t clv_buckets_n_withheld(const struct clv_buckets *buckets)
{
	return buckets->n_withheld;
}

uint64_t clv_bucket_key(const char *text)
{
	return clv_fnv1a_text(text);
}
