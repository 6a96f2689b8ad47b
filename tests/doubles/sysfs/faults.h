/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* Faults on demand: the file "faults" of the control folder.  A line is
 *
 *     OPERATION GLOB NTH ACTION [ARGUMENT]
 *
 * with an operation of write, read or command; a glob for the path from the root of the
 * tree, or for the words of a command joined by slashes; NTH as 3 (the third only), 3+
 * (from the third on) or *; and one of the actions below.  Counting begins when the file
 * is written anew.  Put a new file in its place with rename(2): it is read while you
 * write. */
enum sy_action {
	SY_PROCEED,
	SY_FAIL,       /* ERRNO, and nothing happens */
	SY_FAIL_AFTER, /* ERRNO, and it has happened all the same */
	SY_IGNORE,     /* success, and nothing has happened */
	SY_KILL,       /* SIGKILL for the process that writes, and nothing happens */
	SY_KILL_AFTER, /* SIGKILL for the process that writes, and it has happened */
	SY_DELAY,      /* MS; together with any other */
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
/* What is to happen to this operation, which is counted by it. */
struct sy_fault sy_fault_for(const char *operation, const char *path);
