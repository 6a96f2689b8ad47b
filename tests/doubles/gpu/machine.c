/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include "../nvml/text.h"
#include "vendor.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reads the description of the machine: the GPUs from the vendor's file, and the options,
 * whose words are in the table, from the file of the vendor's name. */

static const struct {
	const char *word;
	size_t offset;
	uint64_t normally;
} words[] = {
#define WORD(word, member, normally)                             \
	{                                                        \
		word, offsetof(struct options, member), normally \
	}
	WORD("version", version, 0),
	WORD("context-mib", context_mib, 0),
	WORD("switch-ns", switch_ns, 0),
	WORD("slice-us", slice_us, 1024),
	WORD("host-mb-s", host_mb_s, 20000),
	WORD("device-mb-s", device_mb_s, 1000000),
	WORD("concurrent-managed", concurrent_managed, 1),
	WORD("lazy-sync", lazy_sync, 0),
	WORD("driver", driver, 580),
	WORD("compute-groups", compute_groups, 1),
	WORD("copy-groups", copy_groups, 1),
	WORD("one-inode", one_inode, 0),
	WORD("inner-addresses", inner_addresses, 0),
	WORD("record-us", record_us, 0),
	WORD("ring-us", ring_us, 0),
	WORD("trace", trace, 0),
#undef WORD
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static uint64_t *option_at(struct options *options, size_t i)
{
	return (uint64_t *)(void *)((char *)options + words[i].offset);
}

/* "WORD NUMBER", or "WORD" for 1. */
static bool read_option(struct options *options, const struct dnv_line *line)
{
	if (strcmp(dgp_vendor.tell_option, line->words[0]) == 0) {
		options->tell = 1;
		return line->n_words == 1 ||
		       dnv_text_number(line->words[1], 0, 1, &options->tell);
	}
	for (size_t i = 0; i < N_WORDS; i++) {
		if (strcmp(words[i].word, line->words[0]) != 0)
			continue;
		*option_at(options, i) = 1;
		return line->n_words == 1 ||
		       dnv_text_number(line->words[1], 0, UINT64_MAX / 1000000,
			       option_at(options, i));
	}
	return false;
}

static void read_options(int dirfd, struct options *ret)
{
	char *text = dnv_text_read(dirfd, DGP_VENDOR), *rest = text;
	struct dnv_line line = {0};

	for (size_t i = 0; i < N_WORDS; i++)
		*option_at(ret, i) = words[i].normally;
	ret->tell = 0;
	ret->version = dgp_vendor.version;
	ret->context_mib = dgp_vendor.context_mib;
	while (dnv_text_next(&rest, &line))
		if (!read_option(ret, &line))
			dnv_text_die(DGP_VENDOR, &line);
	free(text);
}

bool dgp_machine_init(struct machine *m)
{
	int dirfd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool there;

	if (dirfd < 0)
		return false;
	there = dgp_vendor.read_node(dirfd, m);
	read_options(dirfd, &m->options);
	close(dirfd);
	for (uint32_t i = 0; i < m->n_gpus; i++) {
		m->gpus[i].index = i;
		m->gpus[i].total_bytes = m->gpus[i].info.memory_bytes;
	}
	m->now_ns = dgp_now();
	return there;
}

uint64_t dgp_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
