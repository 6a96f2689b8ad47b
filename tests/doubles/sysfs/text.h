/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows; all zero is empty. Failed allocations end the process. */
struct sy_text {
	char *data;
	size_t used, size;
};

void sy_add(struct sy_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sy_text_free(struct sy_text *text);

/* Zeroed memory. */
void *sy_alloc(size_t count, size_t size);

/* printf into a field of fixed size; a text that does not fit ends the process. */
void sy_print(char *to, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints the reason to stderr and ends the process: with an input that cannot be parsed,
 * the test must not go on. */
_Noreturn void sy_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parses a write like the kernel. One newline at the end is ignored. 0, or -EINVAL, or
 * -ERANGE above the maximum. */
int sy_parse(const char *text, uint64_t most, uint64_t *ret);
int sy_parse_bool(const char *text, bool *ret);

/* Compares the whole text, or its prefix, regardless of case. */
bool sy_same(const char *text, const char *word);
bool sy_starts(const char *text, const char *word);

/* "EIO" and 5; NULL and 0 for unknown ones. */
const char *sy_error_name(int error);
int sy_error_number(const char *name);

#define SY_COUNT(array) (sizeof(array) / sizeof((array)[0]))
