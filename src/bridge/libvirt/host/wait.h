/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <libvirt/libvirt.h>

struct clv_error;

/* A wait for an event of one domain: that the device with an alias was removed, or that
 * the domain is off.  It is begun before the call that causes the event.  Events come on
 * the thread of libvirt's event loop; the functions here are for the caller's. */
struct clv_vm_wait;

/* alias NULL: until the domain is off.  NULL: see err. */
struct clv_vm_wait *clv_vm_wait_begin(
	virDomain *domain, const char *alias, struct clv_error *err);
/* 0: the event came; -ETIMEDOUT: it did not, or the guest refuses; -ECONNREFUSED: libvirt
 * went away; -EINTR: interrupt_fd can be read, which -1 never can. */
int clv_vm_wait_for(struct clv_vm_wait *wait, int timeout_ms, int interrupt_fd);
struct clv_vm_wait *clv_vm_wait_end(struct clv_vm_wait *wait);
CLV_DEFINE_CLEANUP(struct clv_vm_wait *, clv_vm_wait_end)
#define _cleanup_wait_ CLV_CLEANUP(clv_vm_wait_endp)
