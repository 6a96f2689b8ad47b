/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define CLV_DIGEST_MAX 65

/* SHA-256 of the bytes as hexadecimal digits; "" if GnuTLS fails. */
void clv_digest(const void *data, size_t n_bytes, char ret[CLV_DIGEST_MAX]);
