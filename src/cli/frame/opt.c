/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line with getopt_long() and a verb's option table.  The error messages
 * are made here and not by getopt, so that each says what would work.  Nothing is
 * printed.
 */
#include "cli/frame/opt.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 32
#define FIRST_VALUE 256 /* above every letter */
#define SEVERAL_MAX 4096u

const char *const clv_opt_formats[] = {"table", "json", "yaml", "name", NULL};
const char *const clv_opt_layout_formats[] = {"yaml", "json", NULL};
const char *const clv_opt_busy[] = {"fail", "wait", "list", NULL};
const char *const clv_opt_classes[] = {"latency", "normal", "batch", NULL};

static int parse_choice(const struct clv_opt *opt, const char *text, const char **ret,
	struct clv_error *err)
{
	char all[128] = "";

	for (const char *const *choice = opt->choices; *choice; choice++) {
		if (strcmp(*choice, text) == 0) {
			*ret = *choice;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
			all[0] ? ", " : "", *choice);
	}
	return clv_error_set(err, -EINVAL, "'%.40s' is none of %s", text, all);
}

static int parse_share(const char *text, struct clv_opt_share *ret, struct clv_error *err)
{
	struct clv_opt_share share = {};
	int r = strstr(text, "..")
			? clv_units_parse_range(text, &share.ppm, &share.most_ppm, err)
			: clv_units_parse_fraction(text, &share.ppm, err);

	if (r < 0)
		return r;
	*ret = share;
	return 0;
}

static int parse_cap(const char *text, struct clv_opt_cap *ret, struct clv_error *err)
{
	struct clv_opt_cap cap = {};

	if (strcmp(text, "none") == 0)
		cap.is_none = true;
	else if (clv_units_parse_fraction(text, &cap.ppm, err) < 0)
		return -EINVAL;

	*ret = cap;
	return 0;
}

static int parse_spill(const char *text, struct clv_opt_spill *ret, struct clv_error *err)
{
	struct clv_opt_spill spill = {};

	if (strcmp(text, "none") == 0)
		spill.is_none = true;
	else if (clv_units_parse_bytes(text, &spill.bytes, err) < 0)
		return -EINVAL;

	*ret = spill;
	return 0;
}

static int parse_wait(const char *text, struct clv_opt_wait *ret, struct clv_error *err)
{
	struct clv_opt_wait wait = {.is_given = true};

	if (text && clv_units_parse_duration(text, &wait.timeout_ns, err) < 0)
		return -EINVAL;

	*ret = wait;
	return 0;
}

static int parse_count(const char *text, uint64_t *ret, struct clv_error *err)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return clv_error_set(
			err, -EINVAL, "'%.40s' is not a whole number such as 100", text);

	*ret = value;
	return 0;
}

static int parse_several(const char *text, uint64_t *ret, struct clv_error *err)
{
	uint64_t value = 0;
	int r = parse_count(text, &value, err);

	if (r < 0)
		return r;
	if (value < 1 || value > SEVERAL_MAX)
		return clv_error_set(
			err, -ERANGE, "'%.40s' is not from 1 to %u", text, SEVERAL_MAX);

	*ret = value;
	return 0;
}

static int parse_place(const char *text, struct clv_opt_place *ret, struct clv_error *err)
{
	uint64_t value = 0;
	int r = parse_count(text, &value, err);

	if (r < 0)
		return r;
	if (value > UINT32_MAX)
		return clv_error_set(err, -ERANGE, "'%.40s' is too large", text);

	*ret = (struct clv_opt_place){.value = (uint32_t)value, .is_given = true};
	return 0;
}

size_t clv_opt_bytes(enum clv_opt_type type)
{
	static const size_t bytes[_CLV_OPT_MAX] = {
		[CLV_OPT_FLAG] = sizeof(bool),
		[CLV_OPT_TEXT] = sizeof(const char *),
		[CLV_OPT_CHOICE] = sizeof(const char *),
		[CLV_OPT_BYTES] = sizeof(uint64_t),
		[CLV_OPT_SPILL] = sizeof(struct clv_opt_spill),
		[CLV_OPT_FRACTION] = sizeof(uint32_t),
		[CLV_OPT_SHARE] = sizeof(struct clv_opt_share),
		[CLV_OPT_CAP] = sizeof(struct clv_opt_cap),
		[CLV_OPT_WAIT] = sizeof(struct clv_opt_wait),
		[CLV_OPT_DURATION] = sizeof(uint64_t),
		[CLV_OPT_COUNT] = sizeof(uint64_t),
		[CLV_OPT_POSITIVE] = sizeof(uint64_t),
		[CLV_OPT_PLACE] = sizeof(struct clv_opt_place),
	};

	assert(type < _CLV_OPT_MAX);
	return bytes[type];
}

bool clv_opt_is_given(const struct clv_opt *opt, const void *settings)
{
	const char *at = (const char *)settings + opt->offset;

	for (size_t i = 0; i < clv_opt_bytes(opt->type); i++) {
		if (at[i] != 0)
			return true;
	}
	return false;
}

static int store(const struct clv_opt *opt, const char *text, void *settings,
	struct clv_error *err)
{
	void *at = (char *)settings + opt->offset;

	switch (opt->type) {
	case CLV_OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case CLV_OPT_TEXT:
		*(const char **)at = text;
		if (text[0] == '\0')
			return clv_error_set(err, -EINVAL, "the value is empty");
		return 0;
	case CLV_OPT_CHOICE:
		return parse_choice(opt, text, at, err);
	case CLV_OPT_BYTES:
		return clv_units_parse_bytes(text, at, err);
	case CLV_OPT_FRACTION:
		return clv_units_parse_fraction(text, at, err);
	case CLV_OPT_SHARE:
		return parse_share(text, at, err);
	case CLV_OPT_CAP:
		return parse_cap(text, at, err);
	case CLV_OPT_SPILL:
		return parse_spill(text, at, err);
	case CLV_OPT_WAIT:
		return parse_wait(text, at, err);
	case CLV_OPT_DURATION:
		return clv_units_parse_duration(text, at, err);
	case CLV_OPT_COUNT:
		return parse_count(text, at, err);
	case CLV_OPT_POSITIVE:
		return parse_several(text, at, err);
	case CLV_OPT_PLACE:
		return parse_place(text, at, err);
	case _CLV_OPT_MAX:
		break;
	}
	return -EINVAL;
}

struct getopt_tables {
	char letters[OPTIONS_MAX * 2 + 8];
	struct option options[OPTIONS_MAX + 1];
};

static void fill_tables(const struct clv_verb *verb, struct getopt_tables *ret)
{
	char *letter = ret->letters;

	assert(verb->n_options <= OPTIONS_MAX);
	/* '+' stops at the first argument: the rest belongs to the program to run.
	 * ':' makes getopt report a missing value by ':' instead of a message. */
	if (verb->is_wrapper)
		*letter++ = '+';
	*letter++ = ':';
	for (size_t i = 0; i < verb->n_options; i++) {
		const struct clv_opt *opt = &verb->options[i];
		int has = opt->type == CLV_OPT_FLAG   ? no_argument
			  : opt->type == CLV_OPT_WAIT ? optional_argument
						      : required_argument;

		ret->options[i] = (struct option){
			.name = opt->name, .has_arg = has, .val = FIRST_VALUE + (int)i};
		if (!opt->letter)
			continue;
		*letter++ = opt->letter;
		if (has != no_argument)
			*letter++ = ':';
	}
	*letter = '\0';
}

static int find_option(const struct clv_verb *verb, int value)
{
	if (value >= FIRST_VALUE)
		return value - FIRST_VALUE;
	for (size_t i = 0; i < verb->n_options; i++) {
		if (verb->options[i].letter == value)
			return (int)i;
	}
	return -1;
}

static void command_name(const struct clv_verb *verb, char ret[64])
{
	snprintf(ret, 64, verb->name[0] ? "cleave %s" : "cleave", verb->name);
}

/* Fails for an unknown option, with a similar name as a hint, or for a flag with a value.
 */
static int fail_unknown(
	const struct clv_verb *verb, const char *word, struct clv_error *err)
{
	const char *names[OPTIONS_MAX + 1] = {};
	size_t n_names = 0;
	const char *near;
	char words[64], bare[64];

	command_name(verb, words);
	if (optopt > 0 && optopt < FIRST_VALUE)
		return clv_error_set(err, -EINVAL,
			"-%c is not an option of %s: see %s --help", optopt, words,
			words);
	if (optopt >= FIRST_VALUE)
		return clv_error_set(err, -EINVAL,
			"--%s takes no value: write --%s alone",
			verb->options[optopt - FIRST_VALUE].name,
			verb->options[optopt - FIRST_VALUE].name);

	for (size_t i = 0; i < verb->n_options; i++)
		names[n_names++] = verb->options[i].name;
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (verb->name[0] && strcmp(bare, "sim") == 0)
		return clv_error_set(err, -EINVAL,
			"--sim comes before the verb: write cleave --sim=FILE %s",
			verb->name);
	near = clv_suggest(bare, names, n_names);
	if (near)
		return clv_error_set(err, -EINVAL,
			"--%s is not an option of %s: did you mean --%s?", bare, words,
			near);
	return clv_error_set(err, -EINVAL, "--%s is not an option of %s: see %s --help",
		bare, words, words);
}

static int fail_missing(const struct clv_verb *verb, struct clv_error *err)
{
	const struct clv_opt *opt = &verb->options[find_option(verb, optopt)];

	return clv_error_set(err, -EINVAL, "--%s needs a value: write --%s=%s", opt->name,
		opt->name, opt->argument);
}

static int check_count(const struct clv_verb *verb, int n, struct clv_error *err)
{
	char words[64];

	command_name(verb, words);
	if (n < verb->min_arguments)
		return clv_error_set(err, -EINVAL,
			"%s needs more arguments: write %s [OPTION...] %s", words, words,
			verb->arguments);
	if (verb->max_arguments >= 0 && n > verb->max_arguments)
		return clv_error_set(err, -EINVAL, "%s takes %s: see %s --help", words,
			verb->max_arguments ? "fewer arguments" : "no arguments", words);
	return 0;
}

int clv_opt_parse(const struct clv_verb *verb, int argc, char **argv, void *settings,
	int *ret_first, struct clv_error *err)
{
	const struct clv_common *common = settings;
	struct getopt_tables tables = {};
	int value, r;

	fill_tables(verb, &tables);
	optind = 0;
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1;
		const struct clv_opt *opt;

		value = getopt_long(argc, argv, tables.letters, tables.options, NULL);
		if (value < 0)
			break;
		if (value == ':')
			return fail_missing(verb, err);
		if (value == '?')
			return fail_unknown(verb, argv[optopt ? at : optind - 1], err);
		opt = &verb->options[find_option(verb, value)];
		r = store(opt, optarg, settings, err);
		if (r < 0) {
			clv_error_prefix(err, "--%s", opt->name);
			return r;
		}
	}
	*ret_first = optind;
	if (common->help)
		return 0;

	return check_count(verb, argc - optind, err);
}
