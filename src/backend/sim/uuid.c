/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs made from names, by SHA-1 as RFC 9562 asks for.  The same name has the same UUID
 * from start to start, so that whoever stored one finds its device again. */
#include "backend/sim/uuid.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64
#define MESSAGE_MAX (4 * BLOCK)

const uint8_t clv_sim_uuid_space[16] = {0x3d, 0x9c, 0x51, 0x0e, 0x7a, 0x42, 0x4b, 0x66,
	0x9f, 0x18, 0xc2, 0x05, 0xe1, 0x4d, 0x8b, 0x77};

static uint32_t rotate(uint32_t word, unsigned int bits)
{
	return word << bits | word >> (32 - bits);
}

/* The function and the constant of a round. */
static uint32_t mix(unsigned int round, uint32_t b, uint32_t c, uint32_t d)
{
	switch (round / 20) {
	case 0:
		return ((b & c) | (~b & d)) + 0x5a827999;
	case 1:
		return (b ^ c ^ d) + 0x6ed9eba1;
	case 2:
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	default:
		return (b ^ c ^ d) + 0xca62c1d6;
	}
}

static uint32_t read_word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	       (uint32_t)bytes[2] << 8 | bytes[3];
}

static void add_block(uint32_t hash[5], const uint8_t block[BLOCK])
{
	uint32_t v[5], w[80];

	for (unsigned int i = 0; i < 16; i++)
		w[i] = read_word(block + 4 * (size_t)i);
	for (unsigned int i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(v, hash, sizeof(v));
	for (unsigned int i = 0; i < 80; i++) {
		uint32_t next = rotate(v[0], 5) + mix(i, v[1], v[2], v[3]) + v[4] + w[i];

		v[4] = v[3];
		v[3] = v[2];
		v[2] = rotate(v[1], 30);
		v[1] = v[0];
		v[0] = next;
	}
	for (unsigned int i = 0; i < 5; i++)
		hash[i] += v[i];
}

/* The message is padded in place: a one bit, zeros, and its length in bits. */
static void sha1(uint8_t message[MESSAGE_MAX], size_t n_bytes, uint32_t hash[5])
{
	static const uint32_t begin[5] = {
		0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	size_t n_padded = (n_bytes + 9 + BLOCK - 1) / BLOCK * BLOCK;

	assert(n_padded <= MESSAGE_MAX);
	memset(message + n_bytes, 0, n_padded - n_bytes);
	message[n_bytes] = 0x80;
	message[n_padded - 2] = (uint8_t)(n_bytes >> 5);
	message[n_padded - 1] = (uint8_t)(n_bytes << 3);
	memcpy(hash, begin, sizeof(begin));
	for (size_t at = 0; at < n_padded; at += BLOCK)
		add_block(hash, message + at);
}

void clv_sim_uuid(const uint8_t space[16], const char *name, char ret[CLV_SIM_UUID_TEXT])
{
	size_t n_name = strnlen(name, 200);
	uint8_t message[MESSAGE_MAX];
	uint32_t h[5];

	memcpy(message, space, 16);
	memcpy(message + 16, name, n_name);
	sha1(message, 16 + n_name, h);
	snprintf(ret, CLV_SIM_UUID_TEXT, "%08x-%04x-%04x-%04x-%04x%08x", h[0], h[1] >> 16,
		(h[1] & 0x0fff) | 0x5000, (h[2] >> 16 & 0x3fff) | 0x8000, h[2] & 0xffff,
		h[3]);
}
