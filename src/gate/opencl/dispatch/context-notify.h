/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <CL/cl.h>
#include <stddef.h>

/* The function of a context that is told of errors: unlike others (notify.h) it may be
 * called at any time until the context is gone, and nothing tells of that.  So what is
 * kept of it goes when its context's handle is another's. */
struct clv_context_notify;

typedef void(CL_CALLBACK *clv_context_function)(
	const char *, const void *, size_t, void *);

/* For the vendor, in the place of userdata.  NULL: there is no memory. */
struct clv_context_notify *clv_context_notify_new(
	clv_context_function function, void *userdata);
void CL_CALLBACK clv_context_notify_run(
	const char *what, const void *more, size_t n_more, void *notify);

/* After the vendor's call.  context: NULL if it failed. */
void clv_context_notify_tie(struct clv_context_notify *notify, cl_context context);

void clv_context_notify_forget_parent(void);
