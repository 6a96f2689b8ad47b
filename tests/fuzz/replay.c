/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over its corpus: each file of the named folders, and the same file
 * truncated and with single bytes changed, so that a compiler without libFuzzer also
 * tests inputs close to the corpus. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>

#define MAX_BYTES 65536
#define N_CHANGES 64

static unsigned int n_inputs;

static void try_input(const uint8_t *data, size_t n_bytes)
{
	/* An allocation of the exact size, for sanitizers and valgrind. */
	uint8_t *exact = malloc(n_bytes ? n_bytes : 1);

	CLV_MUST(exact);
	memcpy(exact, data, n_bytes);
	LLVMFuzzerTestOneInput(exact, n_bytes);
	free(exact);
	n_inputs++;
}

static void try_around(uint8_t *data, size_t n_bytes)
{
	unsigned int seed = (unsigned int)n_bytes;

	try_input(data, n_bytes);
	for (size_t i = 0; i < n_bytes && i < N_CHANGES; i++)
		try_input(data, i);
	for (int i = 0; n_bytes > 0 && i < N_CHANGES; i++) {
		size_t at = (size_t)rand_r(&seed) % n_bytes;
		uint8_t before = data[at];

		data[at] = (uint8_t)rand_r(&seed);
		try_input(data, n_bytes);
		data[at] = before;
	}
}

static int try_folder(const char *folder)
{
	static uint8_t data[MAX_BYTES];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	if (!dir) {
		perror(folder);
		return 1;
	}
	while ((entry = readdir(dir))) {
		char path[4096];
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		file = fopen(path, "rb");
		if (!file) {
			perror(path);
			closedir(dir);
			return 1;
		}
		try_around(data, fread(data, 1, sizeof(data), file));
		fclose(file);
	}
	closedir(dir);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (try_folder(argv[i]))
			return 1;
	printf("%u inputs\n", n_inputs);
	return n_inputs > 0 ? 0 : 1;
}
