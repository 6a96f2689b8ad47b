/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "faults.h"
#include "state.h"

/* The start and the end of a call into the library: the node is looked up, the call is
 * counted and logged, and faults are injected. In between, the calling function has
 * exclusive access to the node. */

struct dnv_call {
	enum dnv_function function;
	struct dnv_fault fault;
	uint64_t sequence, nth;
	int code;     /* the result, if the call is over before it began */
	bool entered; /* the locks are held */
	bool logged;
};

/* False: the call ends with call->code. */
bool dnv_call_begin(struct dnv_call *call, enum dnv_function function);

/* Commits the change if the code is DNV_SUCCESS, and returns the caller's result. */
int dnv_call_end(struct dnv_call *call, int code);

/* During a call, once nvmlInit has found a node. */
const struct dnv_node *dnv_node(void);
const struct dnv_state *dnv_state(void);
int dnv_dirfd(void);

/* The copy to change: it becomes the state when the call ends with DNV_SUCCESS. */
struct dnv_state *dnv_edit(void);

/* The MIG devices as this process sees them. */
const struct dnv_state *dnv_mig_view(void);

/* nvmlInit and nvmlShutdown. */
int dnv_attach(uint32_t flags);
int dnv_detach(void);
