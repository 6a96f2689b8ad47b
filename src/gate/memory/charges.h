/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Charges to the lease's memory quota (ledger.h), and the objects that hold them.  Any
 * thread. */

struct clv_charge {
	uint64_t n_bytes;
	uint32_t epoch;
	bool charged;
	bool refused;      /* over quota, or the process is in no lease */
	bool spilled;      /* charged to host memory beyond the quota */
	bool stands_in;    /* the spilled memory is of another kind than was requested */
	const void *owner; /* the object that it is released with (a context), or NULL */
};

/* Charges n_bytes before they are requested from the vendor; see charge.refused. */
struct clv_charge clv_charge_try(uint64_t n_bytes);
/* The same as the last attempt: a charge that does not fit is counted as a refusal. */
struct clv_charge clv_charge_take(uint64_t n_bytes);
/* Charges a refused charge to host memory instead.  False: there is no room either. */
bool clv_charge_spill(struct clv_charge *charge);
void clv_charge_undo(const struct clv_charge *charge);

/* Charges of allocations that are identified by address, or by a handle that is as
 * good. */
void clv_charge_pointer(const struct clv_charge *charge, const void *address);
void clv_release_pointer(const void *address);

/* The same in two steps, where the vendor may refuse to free: withdraw before the
 * vendor's call, because after it the address may be another thread's; then undo the
 * charge, or charge the address again. */
struct clv_charge clv_charge_withdraw(const void *address);
/* The same where the vendor frees only for the owner: a charge of another owner stays. */
struct clv_charge clv_charge_withdraw_from(const void *owner, const void *address);

/* The same for the allocation that has this address in it. */
struct clv_charge clv_charge_withdraw_around(const void *address, const void **ret_base);

/* Moves the spilled charge of this address to the quota.  False: there is none, or the
 * quota has no room for it. */
bool clv_charge_unspill(const void *address);

/* Releases all charges of an owner that is gone. */
void clv_charges_drop(const void *owner);
/* Call for a new owner: charges of an earlier one at the same address stay, because the
 * vendor does not free that memory for the new one. */
void clv_charges_disown(const void *owner);

void clv_charges_forget_parent(void);
