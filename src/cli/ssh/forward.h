/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <sys/types.h>

/* The system's agent of another host, on a socket here that a child, ssh, forwards to it.
 * All 0: none. */
struct clv_vm_forward {
	pid_t pid;
	char folder[32];
	char socket[48]; /* "" before clv_vm_forward_begin() */
};

/* Makes the folder, in which libvirt finds the ssh of cli/ssh/ssh.h.  Returns 0, or an
 * exit code after printing the error.  The caller calls clv_vm_forward_end() in both
 * cases. */
int clv_vm_forward_prepare(struct clv_vm_forward *ret);
/* Starts ssh; a prepared one.  Returns as above. */
int clv_vm_forward_begin(const char *host, struct clv_vm_forward *forward);
void clv_vm_forward_end(struct clv_vm_forward *forward);
#define _cleanup_forward_ CLV_CLEANUP(clv_vm_forward_end)
