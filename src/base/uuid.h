/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define CLV_UUID_LENGTH 36u

/* Writes a UUID as text: "01234567-89ab-...". */
void clv_uuid_format(const unsigned char id[16], char ret[CLV_UUID_LENGTH + 1]);

/* The UUID that a device has whose driver gives none: of version 8 (RFC 9562), from the
 * names of its platform and its model and its place in the platform's list. */
void clv_uuid_make(const char *platform, const char *model, uint32_t ordinal,
	char ret[CLV_UUID_LENGTH + 1]);
