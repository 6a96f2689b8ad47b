/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLV_VERSIONS_MAX 96
#define CLV_VERSION_NAME_MAX 64

/* The symbol versions that a shared object defines; the first is its own name.  n is 0 if
 * there are none, too many, or if they cannot be read. */
struct clv_versions {
	char names[CLV_VERSIONS_MAX][CLV_VERSION_NAME_MAX];
	size_t n;
};

void clv_versions_read(const char *path, struct clv_versions *ret);
