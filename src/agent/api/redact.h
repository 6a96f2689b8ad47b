/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_request;

/* Removes from an answer to a tenant what identifies other tenants' leases: the holders
 * of devices and partitions, in nodes, plans and operations.  The answer still tells that
 * a device or partition is held. */
void clv_redact_others(struct clv_request *request);
