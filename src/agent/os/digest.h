/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define CLV_DIGEST_MAX 65

/* SHA-256 of the bytes in hexadecimal; "" when there is none to be had. */
void clv_digest(const void *data, size_t n_bytes, char ret[CLV_DIGEST_MAX]);
