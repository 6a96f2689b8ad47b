/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in libvirt's default event loop. */
#include "bridge/libvirt/host/wait.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <string.h>

static void on_timer(int timer, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	wait->is_late = true;
}

static void on_removed(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (strcmp(alias, wait->alias) == 0)
		wait->is_over = true;
}

static void on_refused(
	virConnect *connection, virDomain *domain, const char *alias, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (strcmp(alias, wait->alias) == 0)
		wait->is_refused = true;
}

/* Also a wait for a device is over when the domain is off. */
static int on_state(
	virConnect *connection, virDomain *domain, int event, int detail, void *userdata)
{
	struct clv_vm_wait *wait = userdata;

	if (event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_CRASHED)
		wait->is_over = true;
	return 0;
}

static int add(
	struct clv_vm_wait *wait, int event, virConnectDomainEventGenericCallback fn)
{
	return virConnectDomainEventRegisterAny(
		wait->connection, wait->domain, event, fn, wait, NULL);
}

int clv_vm_wait_begin(struct clv_vm_wait *wait, virDomain *domain, const char *alias,
	struct clv_error *err)
{
	*wait = (struct clv_vm_wait){
		.connection = virDomainGetConnect(domain),
		.domain = domain,
		.alias = alias,
		.callbacks = {-1, -1, -1},
		.timer = -1,
	};
	wait->callbacks[0] = add(
		wait, VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_state));
	if (alias) {
		wait->callbacks[1] = add(wait, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED,
			VIR_DOMAIN_EVENT_CALLBACK(on_removed));
		wait->callbacks[2] = add(wait, VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED,
			VIR_DOMAIN_EVENT_CALLBACK(on_refused));
	}
	if (wait->callbacks[0] < 0 || (alias && wait->callbacks[1] < 0)) {
		clv_vm_fail(err, "libvirt sends no events");
		clv_vm_wait_end(wait);
		return err->code;
	}
	return 0;
}

int clv_vm_wait_for(struct clv_vm_wait *wait, int timeout_ms)
{
	wait->timer = virEventAddTimeout(timeout_ms, on_timer, wait, NULL);
	if (wait->timer < 0)
		return -ENOMEM;
	while (!wait->is_over && !wait->is_refused && !wait->is_late) {
		if (virEventRunDefaultImpl() < 0 ||
			virConnectIsAlive(wait->connection) == 0)
			return -ECONNREFUSED;
	}
	return wait->is_over ? 0 : -ETIMEDOUT;
}

void clv_vm_wait_end(struct clv_vm_wait *wait)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(wait->callbacks); i++) {
		if (wait->callbacks[i] >= 0)
			virConnectDomainEventDeregisterAny(
				wait->connection, wait->callbacks[i]);
	}
	if (wait->timer >= 0)
		virEventRemoveTimeout(wait->timer);
}
