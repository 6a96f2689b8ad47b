/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/object.h"

/* The child of cleave-try-preempt: it computes on the GPU, reports the objects of the
 * resource manager that the driver's library creates, and answers one-byte questions. */

#define CLV_TRY_WORK_KERNELS 400

enum clv_try_question {
	CLV_TRY_LAUNCH = 'l', /* launch a kernel of 100 ms; answer: LAUNCHED */
	CLV_TRY_QUERY = 'q',  /* is it complete; answer: DONE or NOT_DONE */
	CLV_TRY_WORK =
		'w', /* launch WORK_KERNELS kernels of about 1 ms; answer: LAUNCHED */
	CLV_TRY_WORK_DONE = 'n', /* how many of these are complete; answer: DONE */
};

/* Its messages: objects, each with its file; then the outcome of the start; then
 * answers. */
struct clv_try_message {
	enum {
		CLV_TRY_OBJECT,
		CLV_TRY_LAUNCHED,
		CLV_TRY_FAILED,
		CLV_TRY_DONE,
		CLV_TRY_NOT_DONE
	} kind;
	int code; /* FAILED: a CUresult, or 0 without a driver; DONE: how many */
	char what[32];
	struct clv_rm_object object;
};

/* Runs in the child, over the socket to its parent; returns when the socket is closed. */
void clv_try_compute(int socket);
