/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of 64-bit hashes with linear probing. */
#include "simulate/files/names.h"

#include "base/hash.h"
#include <errno.h>
#include <stdlib.h>

uint64_t clv_names_hash(const char *name)
{
	uint64_t hash = clv_fnv1a_text(name);

	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
	return hash;
}

/* Never 0, which marks an empty slot. */
static uint64_t hash_of(const char *name)
{
	uint64_t hash = clv_names_hash(name);

	return hash ? hash : 1;
}

static uint64_t *slot_of(const struct clv_names *names, uint64_t hash)
{
	size_t i = hash & (names->n_slots - 1);

	while (names->hashes[i] && names->hashes[i] != hash)
		i = (i + 1) & (names->n_slots - 1);
	return &names->hashes[i];
}

static int grow(struct clv_names *names)
{
	struct clv_names larger = {.n_slots = names->n_slots ? 2 * names->n_slots : 1024};

	if (4 * names->n_hashes < 3 * names->n_slots)
		return 0;
	larger.hashes = calloc(larger.n_slots, sizeof(*larger.hashes));
	if (!larger.hashes)
		return -ENOMEM;
	for (size_t i = 0; i < names->n_slots; i++) {
		if (names->hashes[i])
			*slot_of(&larger, names->hashes[i]) = names->hashes[i];
	}
	free(names->hashes);
	names->hashes = larger.hashes;
	names->n_slots = larger.n_slots;
	return 0;
}

int clv_names_add(struct clv_names *names, const char *name)
{
	uint64_t hash = hash_of(name), *slot;
	int r = grow(names);

	if (r < 0)
		return r;
	slot = slot_of(names, hash);
	if (*slot)
		return 0;
	*slot = hash;
	names->n_hashes++;
	return 1;
}

void clv_names_done(struct clv_names *names)
{
	free(names->hashes);
	*names = (struct clv_names){0};
}
