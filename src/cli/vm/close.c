/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vm/close.h"

#include "base/error.h"
#include "bridge/libvirt/domain/openers.h"

#include <cleave.h>
#include <errno.h>
#include <stdbool.h>

#define STATUS_CONFLICT 409
#define STATUS_UNAVAILABLE 503

static int check_all(
	const char *const *addresses, size_t n, bool but_agent, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = clv_vm_check_openers(CLV_VM_PROC, addresses[i], but_agent, err);
	return r;
}

/* An agent that refuses may open the GPU at any time. */
static int close_one(
	struct clv_client *client, const char *address, struct clv_error *err)
{
	const struct clv_client_service service = {.action = "close"};
	struct clv_client_error why = {0};

	if (clv_client_device_service(client, address, &service, NULL, &why) >= 0 ||
		(why.status != STATUS_CONFLICT && why.status != STATUS_UNAVAILABLE) ||
		!clv_vm_is_nvidias(CLV_VM_PROC, address))
		return 0;
	return clv_error_set(err, -EBUSY, "%s", why.msg);
}

/* To close several takes the driver some seconds, so none is taken to be closed before
 * the last one is.  Where the agent could not close one, its process is among those that
 * have it open. */
int clv_vm_close_gpus(struct clv_client *client, const char *const *addresses, size_t n,
	struct clv_error *err)
{
	int r = check_all(addresses, n, true, err);

	for (size_t i = 0; i < n && client && r >= 0; i++)
		r = close_one(client, addresses[i], err);
	return r < 0 ? r : check_all(addresses, n, false, err);
}
