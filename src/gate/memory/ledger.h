/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory quota. */

/* Reserves n_bytes of the quota.  False: it would not fit (counted as a refusal). */
bool clv_ledger_charge(uint64_t n_bytes);

/* The same of the host's memory that the lease may have beyond its quota, for what was
 * just refused above: that is then no refusal. */
bool clv_ledger_spill(uint64_t n_bytes);
void clv_ledger_unspill(uint64_t n_bytes, uint32_t epoch);

/* Gives back what was charged by this very process (epoch from clv_ledger_epoch): objects
 * that a child inherited are the parent's charge. */
void clv_ledger_release(uint64_t n_bytes, uint32_t epoch);

/* Books more, or less, once the real size is known, and never refuses: where that may be
 * much more, the difference is charged. */
void clv_ledger_correct(uint64_t charged_bytes, uint64_t real_bytes);
bool clv_ledger_has_room(uint64_t n_bytes); /* in the quota, at the moment */
uint32_t clv_ledger_epoch(void);
uint64_t clv_ledger_quota_bytes(void);   /* UINT64_MAX: ungated */
uint64_t clv_ledger_used_bytes(void);    /* by all processes of the lease */
uint64_t clv_ledger_settled_bytes(void); /* the same, after settle_memory */

/* What a device has free and in all (each may be NULL), cut to the quota. */
void clv_ledger_show(size_t *free_bytes, size_t *total_bytes);
