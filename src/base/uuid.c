/* SPDX-License-Identifier: Apache-2.0 */
#include "base/uuid.h"

#include "base/hash.h"
#include <stdio.h>
#include <string.h>

void clv_uuid_format(const unsigned char id[16], char ret[CLV_UUID_LENGTH + 1])
{
	snprintf(ret, CLV_UUID_LENGTH + 1,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9],
		id[10], id[11], id[12], id[13], id[14], id[15]);
}

static uint64_t hash_of(
	uint64_t seed, const char *platform, const char *model, uint32_t ordinal)
{
	uint64_t hash = clv_fnv1a(CLV_FNV1A_START, &seed, sizeof(seed));

	hash = clv_fnv1a(hash, platform, strlen(platform) + 1);
	hash = clv_fnv1a(hash, model, strlen(model) + 1);
	return clv_fnv1a(hash, &ordinal, sizeof(ordinal));
}

void clv_uuid_make(const char *platform, const char *model, uint32_t ordinal,
	char ret[CLV_UUID_LENGTH + 1])
{
	uint64_t halves[2] = {hash_of(1, platform, model, ordinal),
		hash_of(2, platform, model, ordinal)};
	unsigned char id[sizeof(halves)];

	memcpy(id, halves, sizeof(id));
	id[6] = (unsigned char)((id[6] & 0x0f) | 0x80);
	id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
	clv_uuid_format(id, ret);
}
