/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An agent for one lease, as far as a gate needs one to attach; the lease is always open.
 * It answers on a thread of this process at `socket`, and names the platform "test" and
 * its device 1. */
void lease_open(const char *socket, uint64_t quota_bytes);

/* The bytes that the processes of the lease have charged. */
uint64_t lease_used_bytes(void);

/* The next message of the process that attached last. */
ssize_t lease_receive(void *data, size_t room_bytes);
