/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The small text files of a node: words on lines; '#' begins a comment. */

#define DNV_WORDS_MAX 16

struct dnv_line {
	char *words[DNV_WORDS_MAX + 1]; /* ends with NULL */
	int n_words;
	int number; /* from 1 on */
};

/* Returns the file's text, or NULL without a file. Caller frees. */
char *dnv_text_read(int dirfd, const char *name);

/* Splits off the next line that has words; changes the text. */
bool dnv_text_next(char **text, struct dnv_line *line);

/* Parses an integer in any of C's notations, `none` for "-". False for anything else. */
bool dnv_text_number(const char *word, uint64_t none, uint64_t max, uint64_t *ret);

/* Ends the process: a test with a misspelled word must not run with a default. */
_Noreturn void dnv_text_die(const char *file, const struct dnv_line *line);
