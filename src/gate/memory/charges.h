/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Charges to the lease's memory quota (ledger.h), and what they hang on.  Any thread. */

struct clv_charge {
	uint64_t n_bytes;
	uint32_t epoch;
	bool charged;
	bool refused;      /* over quota, or the process is in no lease */
	bool spilled;      /* of the host's memory, beyond the quota */
	bool stands_in;    /* what was spilled is of another kind than was asked for */
	const void *owner; /* what it goes with (a context), or NULL */
};

/* Whether n_bytes may be asked of the vendor. */
struct clv_charge clv_charge_take(uint64_t n_bytes);
/* Whether the host's memory has room for what was just refused: it is charged there. */
bool clv_charge_spill(struct clv_charge *charge);
void clv_charge_undo(const struct clv_charge *charge);

/* Allocations known by address, or by a handle that is as good. */
void clv_charge_pointer(const struct clv_charge *charge, const void *address);
void clv_release_pointer(const void *address);

/* The same in two steps, where the vendor may refuse to free: taken before its call, for
 * afterwards the address may be another thread's; then undone, or charged again. */
struct clv_charge clv_charge_withdraw(const void *address);
/* Where the vendor frees only for the owner: what another owns stays. */
struct clv_charge clv_charge_withdraw_from(const void *owner, const void *address);

/* What is spilled and has this address counts in the quota from now on.  False: it is
 * not there, or the quota has no room for it. */
bool clv_charge_unspill(const void *address);

/* The owner is gone, and with it what it had. */
void clv_charges_drop(const void *owner);

void clv_charges_forget_parent(void);
