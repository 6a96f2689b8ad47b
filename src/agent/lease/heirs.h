/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

/* Whether a process has its lease's pages, and who else is its address space: a child
 * that was made with CLONE_VM lives on in it when the process ends or becomes another
 * program, with what that allocated.  Both are read from /proc/PID/maps, and how long
 * that takes is up to the process.  So of one lease's processes no more is read in a
 * second than takes CLV_LOOK_NS; what lies beyond is unknown until the next one. */

#define CLV_LOOK_NS UINT64_C(100000000)

enum clv_answer {
	CLV_ANSWER_NO,
	CLV_ANSWER_YES,
	CLV_ANSWER_UNKNOWN,
};

/* Whether it has mapped the lease's report page; of one that has not spoken to this agent
 * yet, any lease's.  Yes, where /proc does not say. */
enum clv_answer clv_heirs_has_page(const struct clv_attached *process);

/* Keeps what there is to know of a process while it lives: where its program and its
 * stack lie, and whose child a child of it may become. */
void clv_heirs_note(struct clv_attached *process);

/* Yes: *ret is in the same address space, and no process of the lease's itself. */
enum clv_answer clv_heirs_find(
	const struct clv_attached *process, struct clv_process_id *ret);
