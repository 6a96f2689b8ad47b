/* SPDX-License-Identifier: Apache-2.0 */
/* Finds duplicate names by 44 bits of a hash, stored in chunks by bucket. */
#include "simulate/files/repeats.h"

#include "base/cleanup.h"
#include "simulate/files/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_BUCKETS 4096u
#define BUCKET_BITS 32
#define CHUNK_ITEMS 252u

struct clv_repeats_chunk {
	struct clv_repeats_chunk *next;
	uint32_t n;
	uint32_t items[CHUNK_ITEMS];
};

/* A name that the second pass has seen.  The next one is another with the same hash. */
struct clv_repeats_name {
	struct clv_repeats_name *next;
	char text[];
};

/* 44 bits, of which the upper ones select the bucket. */
static uint64_t hash_of(const char *name)
{
	return clv_names_hash(name) & ((UINT64_C(1) << BUCKET_BITS) * N_BUCKETS - 1);
}

int clv_repeats_add(struct clv_repeats *repeats, const char *name)
{
	uint64_t hash = hash_of(name);
	struct clv_repeats_chunk **bucket, *chunk;

	if (!repeats->buckets)
		repeats->buckets = calloc(N_BUCKETS, sizeof(struct clv_repeats_chunk *));
	if (!repeats->buckets)
		return -ENOMEM;
	bucket = &repeats->buckets[hash >> BUCKET_BITS];
	chunk = *bucket;
	if (!chunk || chunk->n == CHUNK_ITEMS) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return -ENOMEM;
		chunk->next = *bucket;
		chunk->n = 0;
		*bucket = chunk;
		repeats->n_chunks++;
	}
	chunk->items[chunk->n++] = (uint32_t)hash;
	repeats->n++;
	return 0;
}

static void free_bucket(struct clv_repeats *repeats, unsigned bucket)
{
	struct clv_repeats_chunk *chunk = repeats->buckets[bucket], *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
		repeats->n_chunks--;
	}
	repeats->buckets[bucket] = NULL;
}

static int compare_items(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

static int add_suspect(struct clv_repeats *repeats, uint64_t hash)
{
	if (repeats->n_suspects == repeats->room) {
		size_t room = repeats->room ? 2 * repeats->room : 64;
		uint64_t *grown = reallocarray(repeats->suspects, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		repeats->suspects = grown;
		repeats->room = room;
	}
	repeats->suspects[repeats->n_suspects++] = hash;
	return 0;
}

/* Adds the hashes that occur more than once in a bucket, each once, ascending. */
static int find_suspects(struct clv_repeats *repeats, unsigned bucket)
{
	_cleanup_free_ uint32_t *items = NULL;
	size_t n = 0;
	int r = 0;

	for (const struct clv_repeats_chunk *c = repeats->buckets[bucket]; c; c = c->next)
		n += c->n;
	if (n < 2)
		return 0;
	items = malloc(n * sizeof(*items));
	if (!items)
		return -ENOMEM;
	n = 0;
	for (const struct clv_repeats_chunk *c = repeats->buckets[bucket]; c;
		c = c->next) {
		memcpy(&items[n], c->items, c->n * sizeof(*items));
		n += c->n;
	}
	qsort(items, n, sizeof(*items), compare_items);
	for (size_t i = 1; r == 0 && i < n; i++) {
		if (items[i] == items[i - 1] && (i == 1 || items[i] != items[i - 2]))
			r = add_suspect(
				repeats, (uint64_t)bucket << BUCKET_BITS | items[i]);
	}
	return r;
}

int clv_repeats_end_first_pass(struct clv_repeats *repeats)
{
	int r = 0;

	for (unsigned i = 0; repeats->buckets && i < N_BUCKETS; i++) {
		if (r == 0)
			r = find_suspects(repeats, i);
		free_bucket(repeats, i);
	}
	repeats->n = 0;
	return r < 0 ? r : repeats->n_suspects > 0;
}

static int compare_hashes(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static int add_name(struct clv_repeats_name **names, const char *name)
{
	size_t n_bytes = strlen(name) + 1;
	struct clv_repeats_name *added = malloc(sizeof(*added) + n_bytes);

	if (!added)
		return -ENOMEM;
	added->next = *names;
	memcpy(added->text, name, n_bytes);
	*names = added;
	return 0;
}

int clv_repeats_check_again(struct clv_repeats *repeats, const char *name)
{
	uint64_t hash = hash_of(name);
	const uint64_t *suspect = bsearch(&hash, repeats->suspects, repeats->n_suspects,
		sizeof(*suspect), compare_hashes);
	struct clv_repeats_name **names;

	if (!suspect)
		return 0;
	if (!repeats->seen)
		repeats->seen =
			calloc(repeats->n_suspects, sizeof(struct clv_repeats_name *));
	if (!repeats->seen)
		return -ENOMEM;
	names = &repeats->seen[suspect - repeats->suspects];
	for (const struct clv_repeats_name *n = *names; n; n = n->next) {
		if (strcmp(n->text, name) == 0)
			return 1;
	}
	return add_name(names, name);
}

size_t clv_repeats_bytes(const struct clv_repeats *repeats)
{
	return (repeats->buckets ? N_BUCKETS * sizeof(*repeats->buckets) : 0) +
	       repeats->n_chunks * sizeof(struct clv_repeats_chunk) +
	       repeats->room * sizeof(*repeats->suspects);
}

static void free_names(struct clv_repeats_name *names)
{
	struct clv_repeats_name *next;

	for (; names; names = next) {
		next = names->next;
		free(names);
	}
}

void clv_repeats_done(struct clv_repeats *repeats)
{
	for (unsigned i = 0; repeats->buckets && i < N_BUCKETS; i++)
		free_bucket(repeats, i);
	for (size_t i = 0; repeats->seen && i < repeats->n_suspects; i++)
		free_names(repeats->seen[i]);
	free(repeats->seen);
	free(repeats->buckets);
	free(repeats->suspects);
	*repeats = (struct clv_repeats){0};
}
