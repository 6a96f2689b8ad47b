/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

struct clv_request;

/* Removes from an answer to a tenant what identifies other tenants' leases: the holders
 * of devices and partitions, in nodes, plans and operations.  The answer still tells that
 * a device or partition is held. */
void clv_redact_others(struct clv_request *request);

/* The same for an item of an answer that is made text at once: takes the item, and
 * returns it or a redacted copy, which the caller owns; NULL: out of memory. */
json_t *clv_redact_item(const struct clv_request *request, json_t *item);
