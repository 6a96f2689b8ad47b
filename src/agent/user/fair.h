/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Fair queueing of work by key (a user, an address), by the time that the work has taken.
 * No I/O and no clock: the caller passes the time. */
struct clv_fair;
struct clv_fair_account;

/* A piece of work that waits; part of the caller's own record. */
struct clv_fair_item {
	TAILQ_ENTRY(clv_fair_item) entry;
	struct clv_fair_account *account; /* NULL: does not wait */
};

/* NULL: out of memory. */
struct clv_fair *clv_fair_new(void);
struct clv_fair *clv_fair_free(struct clv_fair *fair);

/* Whether the key has used so little of the last time that its work need not wait. */
bool clv_fair_may_pass(struct clv_fair *fair, uint64_t key, uint64_t now_ns);

/* Work of the key has taken so long. */
void clv_fair_charge(
	struct clv_fair *fair, uint64_t key, uint64_t took_ns, uint64_t now_ns);

/* Has the item wait behind the others of its key.  -ENOMEM */
int clv_fair_add(struct clv_fair *fair, struct clv_fair_item *item, uint64_t key);
/* The item whose turn it is: the first one of the key that has used the least.  NULL:
 * none waits. */
struct clv_fair_item *clv_fair_first(const struct clv_fair *fair);
void clv_fair_remove(struct clv_fair *fair, struct clv_fair_item *item);

/* How many wait. */
size_t clv_fair_count(const struct clv_fair *fair);
