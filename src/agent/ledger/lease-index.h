/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clv_lease;

/* Leases by their ids, and by user and name, for ledgers of ten thousand.  Leases are
 * borrowed.  Loop thread only. */
struct clv_lease_index;

struct clv_lease_index *clv_lease_index_new(void);
struct clv_lease_index *clv_lease_index_free(struct clv_lease_index *index);

void clv_lease_index_add(struct clv_lease_index *index, struct clv_lease *lease);
void clv_lease_index_remove(struct clv_lease *lease);

/* NULL: there is none. */
struct clv_lease *clv_lease_index_by_id(
	const struct clv_lease_index *index, const char *id);
struct clv_lease *clv_lease_index_by_name(
	const struct clv_lease_index *index, uid_t uid, const char *name);
/* A user's leases one after the other: the first behind NULL, NULL behind the last. */
struct clv_lease *clv_lease_index_next_of(
	const struct clv_lease_index *index, uid_t uid, const struct clv_lease *after);
