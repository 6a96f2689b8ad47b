/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The status of a gRPC call, and the encoding of its headers.  Pure. */

enum clv_rpc_code {
	CLV_RPC_OK = 0,
	CLV_RPC_CANCELLED = 1,
	CLV_RPC_UNKNOWN = 2,
	CLV_RPC_INVALID_ARGUMENT = 3,
	CLV_RPC_DEADLINE_EXCEEDED = 4,
	CLV_RPC_NOT_FOUND = 5,
	CLV_RPC_RESOURCE_EXHAUSTED = 8,
	CLV_RPC_FAILED_PRECONDITION = 9,
	CLV_RPC_UNIMPLEMENTED = 12,
	CLV_RPC_INTERNAL = 13,
	CLV_RPC_UNAVAILABLE = 14,
};

#define CLV_RPC_MESSAGE_MAX 512

struct clv_rpc_status {
	int code; /* enum clv_rpc_code, or another code of the peer */
	char message[CLV_RPC_MESSAGE_MAX];
};

/* The gRPC code for a negative errno: CLV_RPC_INVALID_ARGUMENT for -EINVAL,
 * CLV_RPC_RESOURCE_EXHAUSTED for -EBUSY, and so on; else CLV_RPC_INTERNAL. */
enum clv_rpc_code clv_rpc_code_of(int negative_errno);

/* grpc-message is UTF-8 in which '%' and everything but printable ASCII is
 * percent-encoded. A text that does not fit is truncated, never in the middle of an
 * escape. */
#define CLV_RPC_ESCAPED_MAX (3 * CLV_RPC_MESSAGE_MAX)
void clv_rpc_escape(const char *message, char ret[CLV_RPC_ESCAPED_MAX]);
void clv_rpc_unescape(const char *text, size_t n_bytes, char ret[CLV_RPC_MESSAGE_MAX]);

/* grpc-timeout: up to eight digits and a unit.  0, or -EINVAL. */
int clv_rpc_parse_timeout(const char *text, size_t n_bytes, uint64_t *ret_ns);
