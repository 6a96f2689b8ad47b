/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

/* Whether a process still maps its lease's pages, and which other process, a sharer, has
 * its address space: a child that was made with CLONE_VM keeps the memory, with its
 * allocations, when the process ends or calls exec.  Both are read from /proc/PID/maps,
 * which takes as long as the process makes it take.  So the lookups for one lease may
 * take CLV_LOOKUP_NS in a second; after that the answer is UNKNOWN until the next
 * second. */

#define CLV_LOOKUP_NS UINT64_C(100000000)

enum clv_lookup {
	CLV_ANSWER_NO,
	CLV_ANSWER_YES,
	CLV_ANSWER_UNKNOWN,
};

/* Whether the process maps the lease's report page or, if it has not attached to this
 * agent yet, the report page of any lease.  YES where /proc cannot be read. */
enum clv_lookup clv_shared_vm_has_page(const struct clv_attached *process);

/* Records what is needed to find a sharer later and can be read only while the process
 * lives: where its program and stack are, and its ancestors, to which its children may be
 * reparented. */
void clv_shared_vm_record(struct clv_attached *process);

/* Looks for a process with the same address space that is not attached to the lease
 * itself.  YES: it is in *ret. */
enum clv_lookup clv_shared_vm_find(
	const struct clv_attached *process, struct clv_process_id *ret);
