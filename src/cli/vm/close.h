/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client;
struct clv_error;

/* Prepares the GPU at the address to be taken from its driver: has the agent close it,
 * which reads its state otherwise, and checks that no other process has it open.  client:
 * NULL if there is no agent; one that does not know the device leaves it alone.  -EBUSY.
 */
int clv_vm_close_gpu(
	struct clv_client *client, const char *address, struct clv_error *err);
