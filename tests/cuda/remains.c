/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the memory of one lease can be read in the next: fills all memory with a
 * pattern and exits without freeing any, or counts how much of the pattern it finds.
 *
 * usage: cuda-remains write|look
 * prints: MiB that it had, and in how many words of these the pattern was */
#include "memory.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PATTERN 0xc1ea7e5du
#define CHUNKS_MAX 4096
#define BLOCK (64 * MIB)

static struct {
	dptr address[CHUNKS_MAX];
	size_t bytes[CHUNKS_MAX];
	size_t n;
} chunks;

/* As much as the driver gives, in allocations that become smaller. */
static size_t take_all(void)
{
	size_t sum = 0;

	for (size_t bytes = 1024 * MIB; bytes >= MIB; bytes /= 2) {
		while (chunks.n < CHUNKS_MAX &&
			cuMemAlloc_v2(&chunks.address[chunks.n], bytes) == 0) {
			chunks.bytes[chunks.n++] = bytes;
			sum += bytes;
		}
	}
	return sum;
}

static size_t count(const unsigned *words, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += words[i] == PATTERN;
	return found;
}

static size_t count_in_chunk(size_t i, unsigned *words)
{
	size_t found = 0;

	for (size_t at = 0; at < chunks.bytes[i]; at += BLOCK) {
		size_t n = chunks.bytes[i] - at < BLOCK ? chunks.bytes[i] - at : BLOCK;

		OK(cuMemcpyDtoH_v2(words, chunks.address[i] + at, n));
		found += count(words, n / sizeof(*words));
	}
	return found;
}

static void write_all(void)
{
	for (size_t i = 0; i < chunks.n; i++)
		OK(cuMemsetD32_v2(chunks.address[i], PATTERN, chunks.bytes[i] / 4));
	OK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	bool looks = argc == 2 && strcmp(argv[1], "look") == 0;
	size_t sum, found = 0;
	handle context;
	void *words;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuMemHostAlloc(&words, BLOCK, 0));
	sum = take_all();
	CHECK(chunks.n > 0);
	for (size_t i = 0; looks && i < chunks.n; i++)
		found += count_in_chunk(i, words);
	write_all();
	/* The check of the check: it must find the pattern that it has written itself. */
	CHECK(count_in_chunk(chunks.n - 1, words) == chunks.bytes[chunks.n - 1] / 4);
	printf("%zu MiB, pattern in %zu words\n", sum / MIB, found);
	fflush(stdout);
	_exit(0);
}
