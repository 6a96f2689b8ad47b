/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "bridge/rpc/service.h"

#include <protobuf-c/protobuf-c.h>

/* Messages of protocol buffers that calls carry. */

/* Answers with the message. */
void clv_kube_answer(struct clv_rpc_call *call, const ProtobufCMessage *message);

/* The request, to be freed by its own function; NULL: the call was answered. */
void *clv_kube_unpack(struct clv_rpc_call *call,
	const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
	size_t n_bytes);

/* Of an error of ours. */
struct clv_error;
void clv_kube_fail(struct clv_rpc_call *call, const struct clv_error *err);
