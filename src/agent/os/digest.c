/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/digest.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdio.h>

void clv_digest(const void *data, size_t n_bytes, char ret[CLV_DIGEST_MAX])
{
	uint8_t hash[(CLV_DIGEST_MAX - 1) / 2];

	ret[0] = '\0';
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, n_bytes, hash) < 0)
		return;
	for (size_t i = 0; i < sizeof(hash); i++)
		snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}
