/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_lease;

/* Hash tables of leases by id, by owner and name, and by account, sized for ten thousand
 * leases.  Leases are borrowed.  Loop thread only. */
struct clv_lease_index;

struct clv_lease_index *clv_lease_index_new(void);
struct clv_lease_index *clv_lease_index_free(struct clv_lease_index *index);

void clv_lease_index_add(struct clv_lease_index *index, struct clv_lease *lease);
void clv_lease_index_remove(struct clv_lease *lease);

/* NULL if there is none. */
struct clv_lease *clv_lease_index_by_id(
	const struct clv_lease_index *index, const char *id);
struct clv_lease *clv_lease_index_by_name(
	const struct clv_lease_index *index, uid_t uid, const char *name);
/* Iterates over an account's leases: after NULL comes the first, after the last NULL. */
struct clv_lease *clv_lease_index_next_of(const struct clv_lease_index *index,
	uid_t account, const struct clv_lease *after);
