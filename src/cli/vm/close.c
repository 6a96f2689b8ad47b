/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vm/close.h"

#include "bridge/libvirt/domain/openers.h"

#include <cleave.h>
#include <stddef.h>

/* Where the agent could not close it, its process is among those that have it open. */
int clv_vm_close_gpu(
	struct clv_client *client, const char *address, struct clv_error *err)
{
	const struct clv_client_service service = {.action = "close"};
	struct clv_client_error ignored;

	if (client)
		clv_client_device_service(client, address, &service, NULL, &ignored);
	return clv_vm_check_openers(CLV_VM_PROC, address, err);
}
