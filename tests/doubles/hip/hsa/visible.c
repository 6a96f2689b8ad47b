/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ROCR_VISIBLE_DEVICES: numbers and unique ids, in the order of visibility. The list ends
 * at the first word that matches no GPU, or one that is listed already. */

static int find(const struct dgp_gpu_info *all, uint32_t n, const char *word)
{
	char *end;
	long number = strtol(word, &end, 10);

	for (uint32_t i = 0; i < n; i++)
		if (strcasecmp(all[i].uuid, word) == 0)
			return (int)i;
	return end == word || *end || number < 0 || number >= (long)n ? -1 : (int)number;
}

static bool is_in(const uint32_t *list, int n, uint32_t what)
{
	for (int i = 0; i < n; i++)
		if (list[i] == what)
			return true;
	return false;
}

int dhs_visible(
	const struct dgp_gpu_info *all, uint32_t n_all, uint32_t ret[DGP_GPUS_MAX])
{
	const char *list = getenv("ROCR_VISIBLE_DEVICES");
	char copy[1024], *rest = NULL;
	int n = 0;

	if (!list) {
		for (uint32_t i = 0; i < n_all; i++)
			ret[i] = i;
		return (int)n_all;
	}
	snprintf(copy, sizeof(copy), "%s", list);
	for (char *word = strtok_r(copy, ", ", &rest); word;
		word = strtok_r(NULL, ", ", &rest)) {
		int found = find(all, n_all, word);

		if (found < 0 || is_in(ret, n, (uint32_t)found))
			break;
		ret[n++] = (uint32_t)found;
	}
	return n;
}
