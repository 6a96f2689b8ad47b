/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/gate.h"

#include <CL/cl.h>

struct clv_cl_queue;
struct clv_blocked;

/* One call that submits a command: begin, the vendor's call, end. */
struct clv_submission {
	struct clv_view *view; /* NULL: ungated, the call just passes */
	struct clv_cl_queue *queue;
	struct clv_blocked *blocked; /* behind a user event: not in flight yet */
	cl_event *event;             /* what the vendor's call gets */
	cl_event own_event;
	bool blocking; /* returns when the command is complete */
	uint64_t packed;
	uint64_t kind;
};

/* Waits for the turn.  CL_SUCCESS, or the error that the program gets in place of its
 * call. wait_list and event are the program's own arguments. */
cl_int clv_submission_begin(struct clv_submission *submission, cl_command_queue queue,
	uint64_t kind, bool blocking, cl_uint n_waits, const cl_event *wait_list,
	cl_event *event);

/* Books the outcome and returns it. */
cl_int clv_submission_end(struct clv_submission *submission, cl_int result);
