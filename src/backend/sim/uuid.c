/* SPDX-License-Identifier: Apache-2.0 */
/* Name-based UUIDs, with SHA-1 as RFC 9562 requires.  They are stable across starts, so a
 * stored UUID still finds its device. */
#include "backend/sim/uuid.h"

#include <nettle/sha1.h>
#include <stdio.h>
#include <string.h>

const uint8_t clv_sim_uuid_space[16] = {0x3d, 0x9c, 0x51, 0x0e, 0x7a, 0x42, 0x4b, 0x66,
	0x9f, 0x18, 0xc2, 0x05, 0xe1, 0x4d, 0x8b, 0x77};

void clv_sim_uuid(const uint8_t space[16], const char *name, char ret[CLV_SIM_UUID_TEXT])
{
	uint8_t h[SHA1_DIGEST_SIZE];
	struct sha1_ctx hash;

	sha1_init(&hash);
	sha1_update(&hash, 16, space);
	sha1_update(&hash, strnlen(name, 200), (const uint8_t *)name);
	sha1_digest(&hash, sizeof(h), h);
	h[6] = (h[6] & 0x0f) | 0x50;
	h[8] = (h[8] & 0x3f) | 0x80;
	snprintf(ret, CLV_SIM_UUID_TEXT,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11],
		h[12], h[13], h[14], h[15]);
}
