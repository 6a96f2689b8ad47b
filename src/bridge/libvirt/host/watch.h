/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/libvirt/domain/domain.h"

struct clv_error;
struct clv_vm_host;

/* What others do to the virtual machines of a host: that one is defined, starts or ends,
 * gets or loses a device, and that a libvirt goes away.  Events come on the thread of
 * libvirt's event loop and are kept in their order; the functions here are for the thread
 * of the host's caller.  Changes nothing. */
struct clv_vm_watch;

/* The type of the event by which a connection ends; clv_vm_watch_reconnect() is for it.
 */
#define CLV_VM_DISCONNECTED "disconnected"
/* The type of the event that cleave's metadata of a machine has changed, after functions
 * were put into its persistent XML or taken out, which libvirt does not report. */
#define CLV_VM_NOTED "noted"

struct clv_vm_event {
	uint64_t real_ns;           /* when libvirt reported it */
	const char *type;           /* "started", as docs/vms.md lists them; static */
	const char *reason;         /* "migrated"; "": none is known; static */
	const char *uri;            /* of its libvirt; borrowed from the host */
	char uuid[CLV_VM_UUID_MAX]; /* of the machine; "": the event is of the libvirt */
	char name[256];             /* of the machine, for people; "" */
	char alias[CLV_VM_ALIAS_MAX]; /* of the device; "": the event is of none */
};

/* Ended before the host is freed.  NULL, see err: -ENOTSUP, one of its libvirts sends no
 * events; -ENOMEM. */
struct clv_vm_watch *clv_vm_watch_begin(struct clv_vm_host *host, struct clv_error *err);

/* Waits for the next event, for so many milliseconds at most; negative: without a bound.
 * 1: *ret is one; 0: none came; -ENOMEM: events were lost. */
int clv_vm_watch_next(
	struct clv_vm_watch *watch, int timeout_ms, struct clv_vm_event *ret);

/* Connects again to the libvirt that went away, and follows it.  -ECONNREFUSED: it does
 * not answer, or hangs, which takes 30 s. */
int clv_vm_watch_reconnect(
	struct clv_vm_watch *watch, const char *uri, struct clv_error *err);

struct clv_vm_watch *clv_vm_watch_end(struct clv_vm_watch *watch);
CLV_DEFINE_CLEANUP(struct clv_vm_watch *, clv_vm_watch_end)
#define _cleanup_watch_ CLV_CLEANUP(clv_vm_watch_endp)
