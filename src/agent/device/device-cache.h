/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* What the drivers said, kept for as long as nothing that they depend on changes: the
 * boot, the list of drivers, their libraries, the device nodes, the environment. */

/* 16 hexadecimal digits over all of that.  Asks no driver; stats some twenty files. */
void clv_device_cache_key(char ret[17]);

/* The cached answer of the probe for this key, or NULL.  The caller owns it. */
json_t *clv_device_cache_load(const char *folder, const char *key);

/* Best effort: without it the next start is slower. */
void clv_device_cache_save(const char *folder, const char *key, const json_t *answer);
