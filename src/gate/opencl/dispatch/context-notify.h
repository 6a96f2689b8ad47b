/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stddef.h>

/* The error callback of a context.  Unlike other callbacks (notify.h) it may be called at
 * any time until the context is gone, which nothing reports.  So its record is kept until
 * another context gets the same handle. */
struct clv_context_notify;

typedef void(CL_CALLBACK *clv_context_function)(
	const char *, const void *, size_t, void *);

/* To be passed to the driver as userdata.  NULL: there is no memory. */
struct clv_context_notify *clv_context_notify_new(
	clv_context_function function, void *userdata);
void CL_CALLBACK clv_context_notify_run(
	const char *what, const void *more, size_t n_more, void *notify);

/* After the driver's call: ties the record to the context. context NULL: the call failed,
 * and the record is freed. */
void clv_context_notify_tie(struct clv_context_notify *notify, cl_context context);

void clv_context_notify_forget_parent(void);
