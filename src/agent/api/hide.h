/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_request;

/* Takes out of an answer to a tenant what names the leases of others: the holders of
 * devices and partitions, in nodes, plans and operations.  That they are held stays. */
void clv_hide_others(struct clv_request *request);
