/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The program's green contexts.  Such a context has the memory and the events of the
 * device's primary one, and streams of its own, which no call of the program destroys at
 * its end.  It may be current on one thread at a time only, so the gate makes it current
 * for its default streams alone.  Any thread. */

struct clv_cuda_subcontext {
	void *green;
	void *context; /* the same as a context (cuCtxFromGreenCtx) */
	void *primary;
	int device;
};

/* Call with a green context that the program has just created.  False: no memory, or the
 * driver does not tell its context. */
bool clv_cuda_subcontext_made(void *green, int device);

/* Withdraws the record, before the driver's call that ends the green context; put_back:
 * the driver refused.  False: it is none of the program's. */
bool clv_cuda_subcontext_withdraw(void *green, struct clv_cuda_subcontext *ret);
void clv_cuda_subcontext_put_back(const struct clv_cuda_subcontext *subcontext);

/* Those of a primary context that has ended. */
void clv_cuda_subcontexts_drop(const void *primary);

/* Finds the green context in which a stream with a handle is, or which is current as this
 * context.  False: there is none. */
bool clv_cuda_subcontext_of_stream(void *stream, struct clv_cuda_subcontext *ret);
bool clv_cuda_subcontext_of_context(const void *context, struct clv_cuda_subcontext *ret);

/* The context that has the memory which is allocated while this one is current: the
 * primary one for a green one. */
void *clv_cuda_memory_context(void *context);

void clv_cuda_subcontexts_forget_parent(void);
