/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 64-bit FNV-1a, for tables and for names that need not resist a forger.  Some of its
 * values are kept (UUIDs of devices without one, names of leases), so it never changes.
 */
#define CLV_FNV1A_START UINT64_C(0xcbf29ce484222325)

/* `before` is the hash of the preceding data, CLV_FNV1A_START at the start. */
static inline uint64_t clv_fnv1a(uint64_t before, const void *data, size_t n_bytes)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n_bytes; i++)
		before = (before ^ bytes[i]) * UINT64_C(0x100000001b3);
	return before;
}

/* The hash of a text alone, without its NUL. */
static inline uint64_t clv_fnv1a_text(const char *text)
{
	return clv_fnv1a(CLV_FNV1A_START, text, strlen(text));
}
