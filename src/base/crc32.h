/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* zlib's CRC-32.  `before` is the checksum of the preceding data, 0 at the start.  The
 * including unit links zlib itself, because src/base depends on libc only. */
static inline uint32_t clv_crc32(uint32_t before, const void *data, size_t n_bytes)
{
	return (uint32_t)crc32_z(before, data, n_bytes);
}
