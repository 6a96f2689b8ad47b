/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/object.h"

/* The child of cleave-try-preempt: it computes on the GPU, passes on what the driver's
 * library makes of the resource manager, and answers questions of a byte each. */

#define CLV_TRY_WORK_KERNELS 400

enum clv_try_question {
	CLV_TRY_LAUNCH = 'l',    /* a kernel of 100 ms: LAUNCHED */
	CLV_TRY_QUERY = 'q',     /* is it complete: DONE or NOT_DONE */
	CLV_TRY_WORK = 'w',      /* as many kernels of about 1 ms: LAUNCHED */
	CLV_TRY_WORK_DONE = 'n', /* how many of these are complete: DONE */
};

/* What it says: objects, each with its file; then how it went; then answers. */
struct clv_try_message {
	enum {
		CLV_TRY_OBJECT,
		CLV_TRY_LAUNCHED,
		CLV_TRY_FAILED,
		CLV_TRY_DONE,
		CLV_TRY_NOT_DONE
	} kind;
	int code; /* of FAILED a CUresult, 0: there is no driver; of DONE how many */
	char what[32];
	struct clv_rm_object object;
};

/* In the child, over the socket to its parent; returns when that is closed. */
void clv_try_compute(int socket);
