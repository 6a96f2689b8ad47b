/* SPDX-License-Identifier: Apache-2.0 */
/* Four bits at a time: what is checked here is short, and a larger table would be out of
 * the cache whenever it is asked for. */
#include "base/crc32.h"

static const uint32_t table[16] = {
	0x00000000,
	0x1db71064,
	0x3b6e20c8,
	0x26d930ac,
	0x76dc4190,
	0x6b6b51f4,
	0x4db26158,
	0x5005713c,
	0xedb88320,
	0xf00f9344,
	0xd6d6a3e8,
	0xcb61b38c,
	0x9b64c2b0,
	0x86d3d2d4,
	0xa00ae278,
	0xbdbdf21c,
};

uint32_t clv_crc32(uint32_t before, const void *data, size_t n_bytes)
{
	const uint8_t *bytes = data;
	uint32_t sum = ~before;

	for (size_t i = 0; i < n_bytes; i++) {
		sum = table[(sum ^ bytes[i]) & 15] ^ sum >> 4;
		sum = table[(sum ^ bytes[i] >> 4) & 15] ^ sum >> 4;
	}
	return ~sum;
}
