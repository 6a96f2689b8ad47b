/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_rpc_call;
struct json_t;

/* Answers Allocate for a container.  lease: its name; "": it is given by the call for the
 * container's other resource, and the answer is empty.  ways: flags of enum clv_kube_way.
 * edits: CDI's containerEdits, for CLV_KUBE_BY_MOUNTS; NULL otherwise. */
void clv_kube_deliver(struct clv_rpc_call *call, const char *lease, unsigned ways,
	const struct json_t *edits);
