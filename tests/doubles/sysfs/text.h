/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows; all zero is empty.  Memory that cannot be had ends the process: there
 * is nobody here who could go on without it. */
struct sy_text {
	char *data;
	size_t used, size;
};

void sy_add(struct sy_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sy_text_free(struct sy_text *text);

/* Zeroed. */
void *sy_alloc(size_t count, size_t size);

/* printf into a field of fixed size; what does not fit ends the process. */
void sy_print(char *to, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Says why on stderr and ends the process: what a test wrote cannot be read, and it must
 * not go on with something else instead. */
_Noreturn void sy_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the kernel's parsers make of a write.  One newline at the end is no part of it.
 * 0, or -EINVAL, or -ERANGE above the most. */
int sy_parse(const char *text, uint64_t most, uint64_t *ret);
int sy_parse_bool(const char *text, bool *ret);

/* The whole text, or its start whatever comes after and in whatever case. */
bool sy_same(const char *text, const char *word);
bool sy_starts(const char *text, const char *word);

/* "EIO" and 5; NULL and 0 for what is none. */
const char *sy_error_name(int error);
int sy_error_number(const char *name);

#define SY_COUNT(array) (sizeof(array) / sizeof((array)[0]))
