/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for each user.  A plain array, because few users have open connections at a
 * time. */
#include "agent/os/quota.h"

#include "base/cleanup.h"

#include <stdlib.h>

struct entry {
	uid_t uid;
	unsigned int n;
};

struct clv_quota {
	unsigned int most_per_user;
	struct entry *entries;
	size_t n_entries;
};

struct clv_quota *clv_quota_new(unsigned int most_per_user)
{
	struct clv_quota *quota = calloc(1, sizeof(*quota));

	if (quota)
		quota->most_per_user = most_per_user;
	return quota;
}

struct clv_quota *clv_quota_free(struct clv_quota *quota)
{
	if (quota)
		free(quota->entries);
	free(quota);
	return NULL;
}

static struct entry *find(const struct clv_quota *quota, uid_t uid)
{
	for (size_t i = 0; i < quota->n_entries; i++) {
		if (quota->entries[i].uid == uid)
			return &quota->entries[i];
	}
	return NULL;
}

bool clv_quota_take(struct clv_quota *quota, uid_t uid)
{
	struct entry *entry = find(quota, uid);

	if (entry && entry->n >= quota->most_per_user && uid != 0)
		return false;
	if (!entry) {
		entry = realloc(quota->entries, (quota->n_entries + 1) * sizeof(*entry));
		if (!entry)
			return false;
		quota->entries = entry;
		entry += quota->n_entries++;
		*entry = (struct entry){.uid = uid};
	}
	entry->n++;
	return true;
}

void clv_quota_give_back(struct clv_quota *quota, uid_t uid)
{
	struct entry *entry = find(quota, uid);

	if (!entry || --entry->n > 0)
		return;
	*entry = quota->entries[--quota->n_entries];
}

unsigned int clv_quota_count(const struct clv_quota *quota, uid_t uid)
{
	const struct entry *entry = find(quota, uid);

	return entry ? entry->n : 0;
}

uid_t clv_quota_largest(const struct clv_quota *quota, unsigned int *ret_n)
{
	const struct entry *largest = NULL;

	for (size_t i = 0; i < quota->n_entries; i++) {
		if (!largest || quota->entries[i].n > largest->n)
			largest = &quota->entries[i];
	}
	*ret_n = largest ? largest->n : 0;
	return largest ? largest->uid : 0;
}
