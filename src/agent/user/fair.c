/* SPDX-License-Identifier: Apache-2.0 */
/* An account is a bucket that work fills and that drains in time, at a tenth of the rate.
 * One that is nearly empty passes the queue; of those with work in the queue the one that
 * is the least full is served next. */
#include "agent/user/fair.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

#define PART 10u /* an account may use one part of the time in so many and passes */
/* Times until a bucket is empty: at which its key no longer passes, and at most, so that
 * what a key has used while no other needed it counts for a moment only. */
#define PASS_NS (50 * CLV_NS_PER_MS)
#define FULL_NS CLV_NS_PER_S

struct clv_fair_account {
	LIST_ENTRY(clv_fair_account) entry;
	TAILQ_HEAD(, clv_fair_item) items;
	uint64_t key;
	uint64_t empty_ns; /* the bucket is empty at this time */
};

struct clv_fair {
	LIST_HEAD(, clv_fair_account) accounts; /* with items, or not empty */
	size_t n_items;
};

struct clv_fair *clv_fair_new(void)
{
	struct clv_fair *fair = calloc(1, sizeof(*fair));

	if (fair)
		LIST_INIT(&fair->accounts);
	return fair;
}

static void drop(struct clv_fair_account *account)
{
	LIST_REMOVE(account, entry);
	free(account);
}

struct clv_fair *clv_fair_free(struct clv_fair *fair)
{
	while (fair && !LIST_EMPTY(&fair->accounts))
		drop(LIST_FIRST(&fair->accounts));
	free(fair);
	return NULL;
}

static struct clv_fair_account *find(const struct clv_fair *fair, uint64_t key)
{
	struct clv_fair_account *account;

	LIST_FOREACH(account, &fair->accounts, entry)
	{
		if (account->key == key)
			return account;
	}
	return NULL;
}

static struct clv_fair_account *find_or_add(struct clv_fair *fair, uint64_t key)
{
	struct clv_fair_account *account = find(fair, key);

	if (account)
		return account;
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->key = key;
	TAILQ_INIT(&account->items);
	LIST_INSERT_HEAD(&fair->accounts, account, entry);
	return account;
}

static void drop_unused(struct clv_fair *fair, uint64_t now_ns)
{
	struct clv_fair_account *account = LIST_FIRST(&fair->accounts);

	while (account) {
		struct clv_fair_account *next = LIST_NEXT(account, entry);

		if (account->empty_ns <= now_ns && TAILQ_EMPTY(&account->items))
			drop(account);
		account = next;
	}
}

bool clv_fair_may_pass(struct clv_fair *fair, uint64_t key, uint64_t now_ns)
{
	const struct clv_fair_account *account = find(fair, key);

	return !account ||
	       (account->empty_ns <= now_ns + PASS_NS && TAILQ_EMPTY(&account->items));
}

void clv_fair_charge(
	struct clv_fair *fair, uint64_t key, uint64_t took_ns, uint64_t now_ns)
{
	struct clv_fair_account *account;

	drop_unused(fair, now_ns);
	account = find_or_add(fair, key);
	if (!account)
		return;
	if (account->empty_ns < now_ns)
		account->empty_ns = now_ns;
	account->empty_ns += took_ns * PART;
	if (account->empty_ns > now_ns + FULL_NS)
		account->empty_ns = now_ns + FULL_NS;
}

int clv_fair_add(struct clv_fair *fair, struct clv_fair_item *item, uint64_t key)
{
	item->account = find_or_add(fair, key);
	if (!item->account)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&item->account->items, item, entry);
	fair->n_items++;
	return 0;
}

void clv_fair_remove(struct clv_fair *fair, struct clv_fair_item *item)
{
	TAILQ_REMOVE(&item->account->items, item, entry);
	item->account = NULL;
	fair->n_items--;
}

struct clv_fair_item *clv_fair_first(const struct clv_fair *fair)
{
	const struct clv_fair_account *account, *least = NULL;

	LIST_FOREACH(account, &fair->accounts, entry)
	{
		if (!TAILQ_EMPTY(&account->items) &&
			(!least || account->empty_ns < least->empty_ns))
			least = account;
	}
	return least ? TAILQ_FIRST(&least->items) : NULL;
}

size_t clv_fair_count(const struct clv_fair *fair)
{
	return fair->n_items;
}
