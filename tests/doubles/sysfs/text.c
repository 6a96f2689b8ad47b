/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Text as the kernel shows and parses it. */

_Noreturn void sy_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("cleave-double-sysfs: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

void *sy_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		sy_die("out of memory");
	return memory;
}

void sy_print(char *to, size_t size, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= size)
		sy_die("'%s...' is too long", to);
}

static void grow(struct sy_text *text, size_t more)
{
	if (text->used + more < text->size)
		return;
	text->size = (text->used + more) * 2 + 64;
	text->data = realloc(text->data, text->size);
	if (!text->data)
		sy_die("out of memory");
}

void sy_add(struct sy_text *text, const char *format, ...)
{
	va_list arguments, again;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, arguments);
	if (length < 0)
		sy_die("cannot print '%s'", format);
	grow(text, (size_t)length + 1);
	vsnprintf(text->data + text->used, text->size - text->used, format, again);
	text->used += (size_t)length;
	va_end(again);
	va_end(arguments);
}

void sy_text_free(struct sy_text *text)
{
	free(text->data);
	*text = (struct sy_text){0};
}

/* The kernel accepts a plus, 0x and a leading 0, and neither blanks nor a minus. */
int sy_parse(const char *text, uint64_t most, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (*text == '+')
		text++;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (*end == '\n')
		end++;
	if (*end)
		return -EINVAL;
	if (errno || value > most)
		return -ERANGE;
	*ret = value;
	return 0;
}

int sy_parse_bool(const char *text, bool *ret)
{
	static const char *const yes[] = {"y", "t", "1", "on"};
	static const char *const no[] = {"n", "f", "0", "of"};

	for (size_t i = 0; i < SY_COUNT(yes); i++) {
		if (sy_starts(text, yes[i]) || sy_starts(text, no[i])) {
			*ret = sy_starts(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

bool sy_same(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 &&
	       (!text[length] || strcmp(text + length, "\n") == 0);
}

bool sy_starts(const char *text, const char *word)
{
	return strncasecmp(text, word, strlen(word)) == 0;
}

const char *sy_error_name(int error)
{
	return strerrorname_np(error);
}

int sy_error_number(const char *name)
{
	for (int i = 1; i < 134; i++) {
		const char *known = strerrorname_np(i);

		if (known && strcmp(known, name) == 0)
			return i;
	}
	return 0;
}
