/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_agent;
struct clv_error;
struct clv_lease;
struct clv_lease_record;

/* Writes the record of a lease and its devices to the state file.  The caller has begun a
 * transaction. */
int clv_lease_store_put(struct clv_agent *agent, const struct clv_lease *lease,
	const struct clv_lease_record *record, struct clv_error *err);
