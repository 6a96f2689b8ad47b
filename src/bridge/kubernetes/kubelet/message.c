/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and unpacks protobuf messages of calls. */
#include "bridge/kubernetes/kubelet/message.h"

#include "base/error.h"

#include <stdlib.h>

void clv_kube_answer(struct clv_rpc_call *call, const ProtobufCMessage *message)
{
	size_t n_bytes = protobuf_c_message_get_packed_size(message);
	_cleanup_free_ uint8_t *data = malloc(n_bytes + 1);

	if (!data) {
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	protobuf_c_message_pack(message, data);
	clv_rpc_answer(call, data, n_bytes);
}

void *clv_kube_unpack(struct clv_rpc_call *call,
	const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t n_bytes)
{
	void *message = protobuf_c_message_unpack(descriptor, NULL, n_bytes, data);

	if (!message)
		clv_rpc_fail(
			call, CLV_RPC_INVALID_ARGUMENT, "the request cannot be read");
	return message;
}

void clv_kube_fail(struct clv_rpc_call *call, const struct clv_error *err)
{
	clv_rpc_fail(call, clv_rpc_code_of(err->code), "%s", err->msg);
}
