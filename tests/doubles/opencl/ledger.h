/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* A device's memory account and, when CLEAVE_DOUBLE_DEVICE names a file, the locks that
 * make processes share the device: its memory and the right to run. */
struct dcl_ledger;

struct dcl_ledger *dcl_ledger_open(unsigned device);

/* False if the device does not have that much left. */
bool dcl_ledger_charge(struct dcl_ledger *ledger, uint64_t bytes);
void dcl_ledger_refund(struct dcl_ledger *ledger, uint64_t bytes);
void dcl_ledger_read(
	struct dcl_ledger *ledger, uint64_t *live, uint64_t *peak, uint64_t *allocations);

/* The device runs for one process at a time; the death of a process releases it. */
void dcl_ledger_device_take(struct dcl_ledger *ledger);
void dcl_ledger_device_give(struct dcl_ledger *ledger);

/* Every device of the context, or none of them. */
bool dcl_ledger_charge_context(cl_context context, uint64_t bytes);
void dcl_ledger_refund_context(cl_context context, uint64_t bytes);
