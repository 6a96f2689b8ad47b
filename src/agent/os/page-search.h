/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/os/processes.h"

/* Searches of the machine's processes for the memory of one that may have ended or called
 * exec: a child that shares it (CLONE_VM) maps the same report page at the same addresses
 * of program and stack.  A child of fork() does not map the page, and no other tenant
 * can.  For the start of an agent. */
struct clv_page_user {
	struct clv_process_id id;
	struct clv_process_layout layout;
	uint64_t page; /* the inode of the report page */
};

/* Whether the process is gone from its memory and another has it, which is in *ret then.
 * One that has the addresses and whose mappings cannot be read now is taken for it,
 * unless another surely has the page: what the memory is charged stays charged until that
 * can be checked. The first call lists the machine's processes; that list is kept until
 * clv_page_forget_all(), and bounds the time of all searches together. */
bool clv_page_find_sharer(const struct clv_page_user *user, struct clv_process_id *ret);
void clv_page_forget_all(void);

/* A process with a record of its own is no sharer: a child of fork() that has attached
 * has the same addresses and page as its parent.  Kept until clv_page_forget_all(). */
void clv_page_exclude(pid_t pid);

/* Whether the process maps the page.  True if unknown. */
bool clv_page_is_mapped(pid_t pid, uint64_t page);

/* Opens the page of a process that has it, by its descriptors or, for a privileged agent,
 * its mappings.  -1: neither is possible. */
int clv_page_open(pid_t pid, uint64_t page);
