/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client;
struct clv_client_error;

/* Makes a kept lease in each standing share and on each partition that has no lease yet,
 * so that a container can be given it by name.  Any process that reaches the lease's
 * socket may attach.  Returns the number of new leases, or a negative errno; a share or
 * partition that another client takes at the same time is skipped. */
int clv_cdi_reserve(struct clv_client *client, struct clv_client_error *err);
