/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_client;
struct clv_error;

/* Prepares the n GPUs at the addresses to be taken from their driver: has the agent close
 * them, which reads their state otherwise, and checks that no other process has one open.
 * Where another has one already, none is closed.  client: NULL if there is no agent; one
 * that does not know a device leaves it alone.  -EBUSY. */
int clv_vm_close_gpus(struct clv_client *client, const char *const *addresses, size_t n,
	struct clv_error *err);
