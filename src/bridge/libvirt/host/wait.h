/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <libvirt/libvirt.h>
#include <stdbool.h>

struct clv_error;

/* A wait for an event of one domain, in libvirt's event loop: that the device with an
 * alias was removed, or that the domain is off.  It is begun before the call that causes
 * the event.  The caller owns the storage. */
struct clv_vm_wait {
	virConnect *connection;
	virDomain *domain;
	const char *alias; /* NULL: until it is off */
	int callbacks[3];
	int timer;
	bool is_over, is_refused, is_late;
};

int clv_vm_wait_begin(struct clv_vm_wait *wait, virDomain *domain, const char *alias,
	struct clv_error *err);
/* 0: the event came; -ETIMEDOUT: it did not, or the guest refuses; -ECONNREFUSED: libvirt
 * went away. */
int clv_vm_wait_for(struct clv_vm_wait *wait, int timeout_ms);
void clv_vm_wait_end(struct clv_vm_wait *wait);
