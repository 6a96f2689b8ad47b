/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* The answer of the probe, cached until something that it depends on changes: the boot,
 * the list of drivers, their libraries, the device nodes, the environment. */

/* The key: 16 hexadecimal digits, a hash of all of these.  Calls no driver; stats some
 * twenty files. */
void clv_device_cache_key(char ret[17]);

/* The cached answer for this key, owned by the caller; NULL: there is none. */
json_t *clv_device_cache_load(const char *folder, const char *key);

/* Errors are ignored: the next start is slower then. */
void clv_device_cache_save(const char *folder, const char *key, const json_t *answer);
