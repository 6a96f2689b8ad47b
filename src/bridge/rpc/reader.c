/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is allocated for the bytes that have arrived and not for the announced length,
 * so a peer cannot make the reader allocate megabytes with four bytes. */
#include "bridge/rpc/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int read_prefix(struct clv_rpc_reader *reader)
{
	const uint8_t *p = reader->prefix;

	reader->length =
		(size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	reader->n_data = 0;
	if (p[0] != 0)
		return -EOPNOTSUPP;
	return reader->length > reader->most_bytes ? -EMSGSIZE : 0;
}

static int make_room(struct clv_rpc_reader *reader, size_t n_bytes)
{
	size_t room = reader->room ? reader->room : FIRST_ROOM;
	uint8_t *grown;

	while (room < n_bytes)
		room *= 2;
	if (room == reader->room)
		return 0;
	grown = realloc(reader->data, room);
	if (!grown)
		return -ENOMEM;
	reader->data = grown;
	reader->room = room;
	return 0;
}

int clv_rpc_reader_take(struct clv_rpc_reader *reader, const uint8_t *bytes,
	size_t n_bytes, size_t *ret_taken)
{
	size_t n = 0;
	int r = 0;

	if (reader->n_prefix < CLV_RPC_PREFIX_BYTES) {
		n = smaller(CLV_RPC_PREFIX_BYTES - reader->n_prefix, n_bytes);
		memcpy(reader->prefix + reader->n_prefix, bytes, n);
		reader->n_prefix += n;
		if (reader->n_prefix == CLV_RPC_PREFIX_BYTES)
			r = read_prefix(reader);
	}
	if (r == 0 && reader->n_prefix == CLV_RPC_PREFIX_BYTES) {
		size_t more = smaller(reader->length - reader->n_data, n_bytes - n);

		r = make_room(reader, reader->n_data + more);
		if (r == 0 && more > 0)
			memcpy(reader->data + reader->n_data, bytes + n, more);
		reader->n_data += more;
		n += more;
		if (r == 0 && reader->n_data == reader->length) {
			reader->n_prefix = 0;
			r = 1;
		}
	}
	*ret_taken = n;
	return r;
}

int clv_rpc_reader_is_inside(const struct clv_rpc_reader *reader)
{
	return reader->n_prefix > 0;
}

void clv_rpc_reader_clear(struct clv_rpc_reader *reader)
{
	free(reader->data);
	*reader = (struct clv_rpc_reader){.most_bytes = reader->most_bytes};
}

void clv_rpc_write_prefix(size_t n_bytes, uint8_t ret[CLV_RPC_PREFIX_BYTES])
{
	ret[0] = 0;
	for (int i = 0; i < 4; i++)
		ret[1 + i] = (uint8_t)(n_bytes >> (24 - 8 * i));
}
