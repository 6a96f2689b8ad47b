/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* The variable by which processes of a command in a container are found. */
#define CLV_ENGINE_EXEC_MARK "CLEAVE_CHECK"

/* Ends what clv_engine_exec() has started in a container and what that has started: the
 * end of podman's command does not.  first: a process of the container; only processes of
 * its PID namespace are looked at.  Does not wait: returns a descriptor, of the caller,
 * that becomes readable when it is done, within a second or so, or -1 if there is nothing
 * to do.  Where the kernel cannot end the reader of a process it takes longer. */
int clv_engine_end_exec(const char *name, pid_t first);
