/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stddef.h>
#include <stdint.h>

/* Processes that have device files open, from /proc/PID/fd.  Root sees all processes, a
 * user its own. */

struct clv_opener {
	uint32_t pid;
	char path[48]; /* "/dev/vfio/12" */
};

struct clv_openers {
	struct clv_opener *items; /* owned */
	size_t n;
};

/* Finds the open files whose paths begin with one of the prefixes.  -ENOMEM. */
int clv_openers_find(
	const char *const *prefixes, size_t n_prefixes, struct clv_openers *ret);
void clv_openers_clear(struct clv_openers *openers);
#define _cleanup_openers_ CLV_CLEANUP(clv_openers_clear)

/* Adds the processes that have the file open, each once.  -ENOMEM. */
int clv_openers_add_holders(
	const struct clv_openers *openers, const char *path, struct clv_holders *holders);

/* Adds "process 4711 (python3)", unless the process is a holder already.  -ENOMEM. */
int clv_holders_add_process(struct clv_holders *holders, uint32_t pid);
/* Adds a holder that is not a process, such as a kernel module.  -ENOMEM. */
int clv_holders_add_text(struct clv_holders *holders, const char *text);
/* -ENOMEM */
int clv_holders_copy(struct clv_holders *to, const struct clv_holders *from);
/* Writes "process 4711 (python3), process 4712 (a) and 3 more". */
void clv_holders_describe(const struct clv_holders *holders, char *ret, size_t ret_bytes);
