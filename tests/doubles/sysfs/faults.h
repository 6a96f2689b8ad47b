/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* Fault injection: the file "faults" of the control folder. A line is
 *
 *   OPERATION GLOB NTH ACTION [ARGUMENT]
 *
 * with an operation of write, read or command; a glob for the path from the root of the
 * tree, or for the words of a command joined by slashes; NTH as 3 (the third only), 3+
 * (from the third on) or *; and one of the actions below. Counting restarts when the file
 * is replaced. Replace the file with rename(2), because it is read at any time. */
enum sy_action {
	SY_PROCEED,
	SY_FAIL,       /* ERRNO, without an effect */
	SY_FAIL_AFTER, /* ERRNO, with the effect */
	SY_IGNORE,     /* success, without an effect */
	SY_KILL,       /* SIGKILL for the writing process, without an effect */
	SY_KILL_AFTER, /* SIGKILL for the writing process, with the effect */
	SY_DELAY,      /* MS; can be combined with any other */
	SY_ACTION_MAX,
};

struct sy_fault {
	enum sy_action action; /* never SY_DELAY */
	int error;
	uint64_t delay_ms;
};

/* As in the file; "" for SY_PROCEED. */
const char *sy_action_name(enum sy_action action);

void sy_faults_init(const char *control);
/* The fault of this operation; counts the operation. */
struct sy_fault sy_fault_for(const char *operation, const char *path);
