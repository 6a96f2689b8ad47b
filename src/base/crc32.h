/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The CRC-32 of Ethernet and zlib.  It goes on from an earlier one; 0 to begin. */
uint32_t clv_crc32(uint32_t before, const void *data, size_t n_bytes);
