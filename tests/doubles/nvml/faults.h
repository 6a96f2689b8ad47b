/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "state.h"

/* Faults to inject, from the node's file `faults`: a line each, of
 *   FUNCTION|*  NTH|NTH+|*  CODE|kill|hang [SECONDS]  [before|during|after]
 * NTH counts the calls that match the line, of all processes, from the time that the file
 * was written. */

enum dnv_fault_kind {
	DNV_FAULT_NONE,
	DNV_FAULT_CODE,
	DNV_FAULT_KILL,
	DNV_FAULT_HANG,
};

enum dnv_fault_when {
	DNV_FAULT_BEFORE, /* the call has no effect */
	DNV_FAULT_DURING, /* the change is half applied */
	DNV_FAULT_AFTER,  /* the call has taken effect */
};

struct dnv_fault {
	enum dnv_fault_kind kind;
	enum dnv_fault_when when;
	int code;
	double seconds; /* of a hang; negative: for ever */
};

/* Counts this call on every matching line, and returns the first fault that is due. The
 * lock is held. */
struct dnv_fault dnv_fault_due(
	int dirfd, struct dnv_counters *counters, enum dnv_function function);

const char *dnv_function_name(enum dnv_function function);
