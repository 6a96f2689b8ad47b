/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Takes gRPC's messages out of a stream of bytes: a byte that says whether it is
 * compressed, four of length, the message.  Pure; the bytes may be anything. */

#define CLV_RPC_PREFIX_BYTES 5

struct clv_rpc_reader {
	size_t most_bytes; /* of a message */
	uint8_t prefix[CLV_RPC_PREFIX_BYTES];
	size_t n_prefix;
	uint8_t *data; /* of the message that is being read */
	size_t length, n_data, room;
};

/* Takes bytes up to the end of a message.  1: there is one in data, of length bytes,
 * until the next call; 0: all bytes were taken and there is none yet.  -EMSGSIZE: it is
 * longer than may be; -EOPNOTSUPP: it is compressed; -ENOMEM.  *ret_taken is how many
 * bytes of these were used. */
int clv_rpc_reader_take(struct clv_rpc_reader *reader, const uint8_t *bytes,
	size_t n_bytes, size_t *ret_taken);

/* Whether it is in the middle of a message. */
int clv_rpc_reader_is_inside(const struct clv_rpc_reader *reader);

void clv_rpc_reader_clear(struct clv_rpc_reader *reader);

/* The prefix of a message that is to be sent. */
void clv_rpc_write_prefix(size_t n_bytes, uint8_t ret[CLV_RPC_PREFIX_BYTES]);
