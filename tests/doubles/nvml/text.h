/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The small text files of a node: words on lines, '#' begins a comment. */

#define DNV_WORDS_MAX 16

struct dnv_line {
	char *words[DNV_WORDS_MAX + 1]; /* ends with NULL */
	int n_words;
	int number; /* from 1 on */
};

/* The file's text, to be freed, or NULL where there is no file. */
char *dnv_text_read(int dirfd, const char *name);

/* Cuts the next line that has words out of the text, which is changed. */
bool dnv_text_next(char **text, struct dnv_line *line);

/* A whole number in any of C's notations, `none` for "-".  False for anything else. */
bool dnv_text_number(const char *word, uint64_t none, uint64_t max, uint64_t *ret);

/* Ends the process: a test that misspells something must not run with a default. */
_Noreturn void dnv_text_die(const char *file, const struct dnv_line *line);
