/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/service.h"

#include <protobuf-c/protobuf-c.h>

/* Protobuf messages of gRPC calls. */

/* Answers the call with the message. */
void clv_kube_answer(struct clv_rpc_call *call, const ProtobufCMessage *message);

/* Unpacks a request.  The caller frees it with its generated function.  NULL: the request
 * is malformed, and the call has been answered with an error. */
void *clv_kube_unpack(struct clv_rpc_call *call,
	const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
	size_t n_bytes);

/* Answers the call with an error. */
struct clv_error;
void clv_kube_fail(struct clv_rpc_call *call, const struct clv_error *err);
