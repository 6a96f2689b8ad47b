/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* zlib's CRC-32.  It goes on from an earlier one; 0 to begin.  The includer links zlib:
 * base itself needs nothing but libc. */
static inline uint32_t clv_crc32(uint32_t before, const void *data, size_t n_bytes)
{
	return (uint32_t)crc32_z(before, data, n_bytes);
}
