/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The words for libvirt's numbers of events, as users read them. */
struct clv_vm_event_names {
	const char *type, *reason; /* static */
};

/* Of a virDomainEventType and its detail.  One of a later libvirt is "changed", or has
 * the reason "". */
struct clv_vm_event_names clv_vm_event_names(int event, int detail);

/* Of a virConnectCloseReason. */
const char *clv_vm_close_reason(int reason);
