/* SPDX-License-Identifier: Apache-2.0 */
#include "visible.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_uuid(const struct dgp_gpu_info *all, uint32_t n_all, const char *word)
{
	int found = -1;

	for (uint32_t i = 0; i < n_all; i++) {
		if (strncasecmp(all[i].uuid, word, strlen(word)) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static int find(const struct dgp_gpu_info *all, uint32_t n_all, const char *word)
{
	char *end;
	long number = strtol(word, &end, 10);

	if (strncmp(word, "GPU-", 4) == 0)
		return by_uuid(all, n_all, word);
	if (end == word || *end || number < 0 || number >= (long)n_all)
		return -1;
	return (int)number;
}

static int all_of_them(uint32_t n_all, uint32_t ret[DGP_GPUS_MAX])
{
	for (uint32_t i = 0; i < n_all; i++)
		ret[i] = i;
	return (int)n_all;
}

int dcu_visible(
	const struct dgp_gpu_info *all, uint32_t n_all, uint32_t ret[DGP_GPUS_MAX])
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	char copy[1024], *rest = NULL;
	int n = 0;

	if (!list)
		return all_of_them(n_all, ret);
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *word = strtok_r(copy, ", ", &rest); word;
		word = strtok_r(NULL, ", ", &rest)) {
		int found = find(all, n_all, word);

		if (found < 0)
			break;
		/* A GPU named twice makes the list empty. */
		for (int i = 0; i < n; i++)
			if (ret[i] == (uint32_t)found)
				return 0;
		ret[n++] = (uint32_t)found;
	}
	return n;
}
