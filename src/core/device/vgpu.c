/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device/vgpu.h"

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GIB (UINT64_C(1) << 30)
#define LISTED_MAX 64u

static const char *const brands[] = {"NVIDIA ", "GRID "};

static const char *without_brand(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(brands); i++) {
		if (strncasecmp(name, brands[i], strlen(brands[i])) == 0)
			return name + strlen(brands[i]);
	}
	return name;
}

bool clv_vgpu_has_types(enum clv_vf_framework framework)
{
	return framework == CLV_VF_MDEV || framework == CLV_VF_VFIO;
}

bool clv_vgpu_is_type(const char *now, const char *asked)
{
	if (now[0] == '\0' || strcmp(asked, CLV_VGPU_NONE) == 0)
		return now[0] == '\0' &&
		       (asked[0] == '\0' || strcmp(asked, CLV_VGPU_NONE) == 0);
	return strcasecmp(without_brand(now), without_brand(asked)) == 0;
}

const struct clv_vgpu_type *clv_vgpu_find(
	const struct clv_vgpu_type *types, size_t n, const char *text)
{
	for (size_t i = 0; i < n && text[0] != '\0'; i++) {
		if (clv_vgpu_is_type(types[i].name, text) ||
			strcmp(types[i].id, text) == 0)
			return &types[i];
	}
	return NULL;
}

uint64_t clv_vgpu_memory_of_name(const char *name)
{
	const char *last = strrchr(name, '-');
	unsigned long gib;
	char *end;

	if (!last || !isdigit((unsigned char)last[1]))
		return 0;
	gib = strtoul(last + 1, &end, 10);
	if (!isalpha((unsigned char)*end))
		return 0;
	return gib > 0 ? gib * GIB : GIB / 2;
}

void clv_vgpu_list(const struct clv_vgpu_type *types, size_t n, const char *asked,
	char *ret, size_t ret_bytes)
{
	const char *names[LISTED_MAX], *nearest;
	size_t n_names = 0, used;

	ret[0] = '\0';
	for (size_t i = 0; i < n && n_names < LISTED_MAX; i++) {
		names[n_names++] = without_brand(types[i].name);
		clv_text_list(ret, ret_bytes, types[i].name);
	}
	if (n == 0)
		clv_text_list(ret, ret_bytes, "none");
	nearest = clv_suggest(without_brand(asked), names, n_names);
	used = strlen(ret);
	if (nearest && n > 1)
		snprintf(
			ret + used, ret_bytes - used, ", and the nearest is %s", nearest);
}
