/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs one input. A target states its invariants with CLV_MUST(), which unlike assert()
 * stays in every build. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#define CLV_MUST(condition)       \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* Reads numbers from the input; after its end, zeros. */
struct clv_fuzz_input {
	const uint8_t *data;
	size_t n_left;
};

static inline uint64_t clv_fuzz_take(struct clv_fuzz_input *input, size_t n_bytes)
{
	uint64_t value = 0;

	if (n_bytes > input->n_left)
		n_bytes = input->n_left;
	memcpy(&value, input->data, n_bytes);
	input->data += n_bytes;
	input->n_left -= n_bytes;
	return value;
}

/* The number of open descriptors, with those of the search itself. */
static inline int clv_fuzz_count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CLV_MUST(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Returns a copy that ends in a NUL, so that sanitizers see a read past the end. Caller
 * frees. */
static inline char *clv_fuzz_text(const uint8_t *data, size_t n_bytes)
{
	char *text = malloc(n_bytes + 1);

	CLV_MUST(text);
	memcpy(text, data, n_bytes);
	text[n_bytes] = '\0';
	return text;
}
