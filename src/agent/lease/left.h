/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

/* What processes left behind that ended, or called exec, while there was no agent: a
 * child that shares their memory (CLONE_VM) has no gate that would attach it again, and
 * is known to no record.  For the start of an agent; agent/lease/heirs.h is for the time
 * after it. */

/* Whether the process of an earlier agent is gone and another has its memory; that one is
 * in *ret then. */
bool clv_left_find(const struct clv_process_record *record, struct clv_process_id *ret);

/* Opens the report page that the adopted processes of the lease had, where one of them
 * still has it: those without a gate bring none.  The caller closes it.  -1: none has it,
 * or the kernel does not let this agent see it; an event says so for each process whose
 * charges are lost by that. */
int clv_left_open_page(const struct clv_lease *lease);
