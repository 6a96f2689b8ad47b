/* SPDX-License-Identifier: Apache-2.0 */
/* Chained hash tables of a fixed size. */
#include "agent/lease/lease-index.h"

#include "agent/lease/lease.h"
#include "base/hash.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u

LIST_HEAD(lease_bucket, clv_lease);

struct clv_lease_index {
	struct lease_bucket by_id[BUCKETS], by_name[BUCKETS], by_account[BUCKETS];
};

static uint32_t hash(const char *text, uint32_t seed)
{
	return (uint32_t)(clv_fnv1a(CLV_FNV1A_START ^ seed, text, strlen(text)) %
			  BUCKETS);
}

struct clv_lease_index *clv_lease_index_new(void)
{
	return calloc(1, sizeof(struct clv_lease_index));
}

struct clv_lease_index *clv_lease_index_free(struct clv_lease_index *index)
{
	free(index);
	return NULL;
}

void clv_lease_index_add(struct clv_lease_index *index, struct clv_lease *lease)
{
	const struct clv_lease_record *record = &lease->record;

	assert(record->id[0] != '\0');
	LIST_INSERT_HEAD(&index->by_id[hash(record->id, 0)], lease, of_id);
	LIST_INSERT_HEAD(
		&index->by_name[hash(record->name, lease->owner)], lease, of_name);
	LIST_INSERT_HEAD(&index->by_account[lease->account % BUCKETS], lease, of_account);
}

void clv_lease_index_remove(struct clv_lease *lease)
{
	LIST_REMOVE(lease, of_id);
	LIST_REMOVE(lease, of_name);
	LIST_REMOVE(lease, of_account);
}

struct clv_lease *clv_lease_index_by_id(
	const struct clv_lease_index *index, const char *id)
{
	struct clv_lease *lease;

	LIST_FOREACH(lease, &index->by_id[hash(id, 0)], of_id)
	{
		if (strcmp(lease->record.id, id) == 0)
			return lease;
	}
	return NULL;
}

struct clv_lease *clv_lease_index_by_name(
	const struct clv_lease_index *index, uid_t uid, const char *name)
{
	struct clv_lease *lease;

	LIST_FOREACH(lease, &index->by_name[hash(name, uid)], of_name)
	{
		if (lease->owner == uid && strcmp(lease->record.name, name) == 0)
			return lease;
	}
	return NULL;
}

struct clv_lease *clv_lease_index_next_of(
	const struct clv_lease_index *index, uid_t account, const struct clv_lease *after)
{
	struct clv_lease *lease =
		after ? LIST_NEXT(after, of_account)
		      : LIST_FIRST(&index->by_account[account % BUCKETS]);

	while (lease && lease->account != account)
		lease = LIST_NEXT(lease, of_account);
	return lease;
}
