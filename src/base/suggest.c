/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the nearest name by edit distance (insert, delete, replace, swap
 * of adjacent letters).  Names farther than a third of their length plus one are not
 * offered. */
#include "base/suggest.h"

#include "base/cleanup.h"

#include <string.h>

#define WORD_MAX 32

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t edit_distance(const char *a, const char *b)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] =
				least(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
				a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

const char *clv_suggest(const char *word, const char *const *names, size_t n_names)
{
	const char *best = NULL;
	size_t best_distance = WORD_MAX;

	for (size_t i = 0; i < n_names; i++) {
		size_t distance = edit_distance(word, names[i]);

		if (distance < best_distance && distance <= strlen(names[i]) / 3 + 1) {
			best = names[i];
			best_distance = distance;
		}
	}
	return best;
}
