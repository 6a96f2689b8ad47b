/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLV_VERSIONS_MAX 96
#define CLV_VERSION_NAME_MAX 64

/* The versions of symbols that a shared object defines, its own name as the first, as its
 * headers have them.  n is 0 where there are none, more than that, or no telling. */
struct clv_versions {
	char names[CLV_VERSIONS_MAX][CLV_VERSION_NAME_MAX];
	size_t n;
};

void clv_versions_read(const char *path, struct clv_versions *ret);
