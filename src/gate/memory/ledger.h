/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory quota.  Any thread. */

/* Charges n_bytes to the quota.  False: they do not fit. */
bool clv_ledger_charge(uint64_t n_bytes);

/* Counts an allocation that did not fit and is refused to the program. */
void clv_ledger_count_refusal(void);

/* Charges n_bytes to the host memory that the lease may have beyond its quota. */
bool clv_ledger_spill(uint64_t n_bytes);
void clv_ledger_unspill(uint64_t n_bytes, uint32_t epoch);

/* Releases what this very process charged (epoch from clv_ledger_epoch): objects that a
 * child inherited are charged to the parent. */
void clv_ledger_release(uint64_t n_bytes, uint32_t epoch);

/* Corrects a charge once the real size is known.  Never refuses: where the difference may
 * be large, charge it instead. */
void clv_ledger_correct(uint64_t charged_bytes, uint64_t real_bytes);
bool clv_ledger_has_room(uint64_t n_bytes); /* in the quota, at present */
uint32_t clv_ledger_epoch(void);
uint64_t clv_ledger_quota_bytes(void);   /* UINT64_MAX: ungated */
uint64_t clv_ledger_used_bytes(void);    /* by all processes of the lease */
uint64_t clv_ledger_settled_bytes(void); /* the same, after settle_memory */

/* What a device has free and in all (each may be NULL), cut to the quota. */
void clv_ledger_clamp_info(size_t *free_bytes, size_t *total_bytes);
