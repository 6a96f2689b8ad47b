/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/processes.h"

/* Searches all processes of the machine for one that shares the memory of a process that
 * may have ended or called exec: a child with the same memory (CLONE_VM) maps the same
 * report page, and has the same addresses of program and stack.  A child of fork() does
 * not map the page, and no process of another tenant can.  Used when an agent starts. */
struct clv_page_user {
	struct clv_process_id id;
	struct clv_process_layout layout;
	uint64_t page; /* the inode of the report page */
};

/* Whether the process no longer has its memory and another process has it, which is
 * stored in *ret.  A process that has the addresses and whose mappings cannot be read now
 * is taken to be that one, unless another is known to map the page: the memory stays
 * charged until the mappings can be read.  The first call lists the processes of the
 * machine; the list is kept until clv_page_forget_all(), and bounds the time of all
 * searches together. */
bool clv_page_find_sharer(const struct clv_page_user *user, struct clv_process_id *ret);
void clv_page_forget_all(void);

/* Excludes a process that has a record: a child of fork() that has attached has the same
 * addresses and page as its parent.  Kept until clv_page_forget_all(). */
void clv_page_exclude(pid_t pid);

/* Whether the process maps the page.  True if unknown. */
bool clv_page_is_mapped(pid_t pid, uint64_t page);

/* Opens the report page of a process that has it, by a descriptor or, for a privileged
 * agent, by a mapping of the process.  -1: neither is possible. */
int clv_page_open(pid_t pid, uint64_t page);
