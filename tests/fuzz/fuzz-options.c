/* SPDX-License-Identifier: Apache-2.0 */
/* A command line, its words separated by newlines, parsed with tables that have every
 * type of option. Accepted values must be in range; a rejection must have an error
 * text. */
#include "fuzz.h"

#include "base/error.h"
#include "base/units.h"
#include "cli/frame/opt.h"

#include <getopt.h>

#define MAX_WORDS 64

struct fuzz_settings {
	struct clv_common common;
	uint64_t memory_bytes;
	const char *class_name;
	struct clv_opt_share share;
	struct clv_opt_cap cap;
	struct clv_opt_wait wait;
	struct clv_opt_place start;
	uint64_t interval_ns;
	uint64_t n_lines;
	uint64_t count;
};

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
	CLV_OPT_OUTPUT,
	{.name = "share",
		.letter = 's',
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(struct fuzz_settings, share.ppm),
		.argument = "FRACTION"},
	{.name = "cap",
		.type = CLV_OPT_CAP,
		.offset = CLV_OPT_AT(struct fuzz_settings, cap),
		.argument = "FRACTION"},
	{.name = "memory",
		.letter = 'm',
		.type = CLV_OPT_BYTES,
		.offset = CLV_OPT_AT(struct fuzz_settings, memory_bytes),
		.argument = "SIZE"},
	{.name = "class",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct fuzz_settings, class_name),
		.argument = "CLASS",
		.choices = clv_opt_classes},
	{.name = "wait",
		.letter = 'w',
		.type = CLV_OPT_WAIT,
		.offset = CLV_OPT_AT(struct fuzz_settings, wait),
		.argument = "TIMEOUT"},
	{.name = "interval",
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct fuzz_settings, interval_ns),
		.argument = "TIME"},
	{.name = "start",
		.type = CLV_OPT_PLACE,
		.offset = CLV_OPT_AT(struct fuzz_settings, start),
		.argument = "N"},
	{.name = "count",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct fuzz_settings, count),
		.argument = "N"},
	{.name = "lines",
		.letter = 'n',
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct fuzz_settings, n_lines),
		.argument = "N"},
};

static const struct clv_verb verbs[] = {
	{.name = "fuzz",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
		.max_arguments = 2},
	{.name = "wrap",
		.options = options,
		.n_options = sizeof(options) / sizeof(options[0]),
		.min_arguments = 1,
		.max_arguments = -1,
		.is_wrapper = true},
};

static int split(char *text, char *argv[MAX_WORDS + 1])
{
	int n = 1;
	char *word = text;

	argv[0] = text + strlen(text);
	while (word && n < MAX_WORDS) {
		argv[n++] = word;
		word = strchr(word, '\n');
		if (word)
			*word++ = '\0';
	}
	argv[n] = NULL;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *text = clv_fuzz_text(data, n_bytes), *argv[MAX_WORDS + 1];
		struct fuzz_settings settings = {0};
		struct clv_error err = {0};
		int argc = split(text, argv), first = -1;

		optind = 0; /* optind = 0; getopt starts again */
		if (clv_opt_parse(&verbs[i], argc, argv, &settings, &first, &err) < 0) {
			CLV_MUST(err.code < 0 && err.msg[0]);
		} else {
			CLV_MUST(first >= 1 && first <= argc);
			CLV_MUST(settings.share.ppm <= CLV_PPM);
			CLV_MUST(settings.cap.ppm <= CLV_PPM);
			CLV_MUST(!settings.cap.is_none || settings.cap.ppm == 0);
		}
		free(text);
	}
	return 0;
}
