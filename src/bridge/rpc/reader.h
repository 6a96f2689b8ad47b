/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Parses gRPC's length-prefixed messages: a byte for compression, four bytes of length,
 * the message.  Pure; the input is not trusted. */

#define CLV_RPC_PREFIX_BYTES 5

struct clv_rpc_reader {
	size_t most_bytes; /* the largest message that is accepted */
	uint8_t prefix[CLV_RPC_PREFIX_BYTES];
	size_t n_prefix;
	uint8_t *data; /* owned; the message, or its beginning */
	size_t length, n_data, room;
};

/* Reads bytes up to the end of a message; *ret_taken is the number of bytes read. Returns
 * 1 if a message is complete: it is in data, of length bytes, until the next call; 0 if
 * all bytes were read and the message is incomplete.  -EMSGSIZE: it is longer than
 * most_bytes; -EOPNOTSUPP: it is compressed; -ENOMEM. */
int clv_rpc_reader_take(struct clv_rpc_reader *reader, const uint8_t *bytes,
	size_t n_bytes, size_t *ret_taken);

/* Whether a message has begun and is incomplete. */
int clv_rpc_reader_is_inside(const struct clv_rpc_reader *reader);

void clv_rpc_reader_clear(struct clv_rpc_reader *reader);

/* Writes the prefix of a message of n_bytes. */
void clv_rpc_write_prefix(size_t n_bytes, uint8_t ret[CLV_RPC_PREFIX_BYTES]);
