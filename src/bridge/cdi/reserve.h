/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client;
struct clv_client_error;

/* Keeps a lease for whoever reaches its socket, in each standing share and on each
 * partition that has none yet, so that containers can be given them by name.  Returns how
 * many it made, or a negative errno; one that another has taken meanwhile is left. */
int clv_cdi_reserve(struct clv_client *client, struct clv_client_error *err);
