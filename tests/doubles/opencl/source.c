/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds "kernel void NAME(ARGS)" in a text. This is not a parser: it does not understand
 * comments and macros, and a kernel that it does not find may be created all the same. */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next kernel from `at` on: its name and the text between its parentheses. */
static const char *next_kernel(const char *at, const char **name, size_t *name_bytes,
	const char **args, size_t *args_bytes)
{
	const char *word, *open, *end;
	int depth = 0;

	while ((word = strstr(at, "kernel"))) {
		at = word + 6;
		open = at + strcspn(at, "({;}");
		/* An attribute in between has its own parentheses. */
		while (*open == '(' && open - at > 13 &&
			strncmp(open - 13, "__attribute__", 13) == 0) {
			open = strstr(open, "))");
			if (!open)
				return NULL;
			open += 2;
			open += strcspn(open, "({;}");
		}
		if (is_word(*at) || *open != '(')
			continue;
		for (end = open; *end; end++) {
			depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
			if (depth == 0)
				break;
		}
		if (!*end)
			return NULL;
		*args = open + 1;
		*args_bytes = (size_t)(end - open - 1);
		while (open > at && isspace((unsigned char)open[-1]))
			open--;
		for (*name = open; *name > at && is_word((*name)[-1]);)
			--*name;
		*name_bytes = (size_t)(open - *name);
		if (*name_bytes > 0)
			return end;
		at = end;
	}
	return NULL;
}

char *dcl_source_kernels(const char *text, cl_uint *n)
{
	const char *at = text, *name, *args;
	size_t name_bytes, args_bytes, bytes = 0;
	char *names = NULL;
	FILE *out = open_memstream(&names, &bytes);

	*n = 0;
	if (!out)
		return NULL;
	while ((at = next_kernel(at, &name, &name_bytes, &args, &args_bytes)))
		fprintf(out, "%s%.*s", (*n)++ ? ";" : "", (int)name_bytes, name);
	if (fclose(out) != 0)
		return NULL;
	return names;
}

static bool contains(const char *text, size_t bytes, const char *word)
{
	return memmem(text, bytes, word, strlen(word)) != NULL;
}

static enum dcl_arg_kind kind_of(const char *text, size_t bytes)
{
	if (contains(text, bytes, "*"))
		return contains(text, bytes, "local ") ? DCL_ARG_LOCAL : DCL_ARG_MEM;
	if (contains(text, bytes, "image") || contains(text, bytes, "pipe "))
		return DCL_ARG_MEM;
	/* A type defined by the program may be anything. */
	return DCL_ARG_VALUE;
}

static void read_args(const char *text, size_t bytes, cl_kernel kernel)
{
	const char *end = text + bytes, *start = text, *at;
	int depth = 0;

	kernel->args_known = true;
	while (start < end && isspace((unsigned char)*start))
		start++;
	if (start == end || (end - start >= 4 && strncmp(start, "void", 4) == 0 &&
				    start + 4 + strspn(start + 4, " \t\n") == end))
		return;
	for (at = start; at <= end && kernel->n_args < DCL_MAX_ARGS; at++) {
		if (at < end) {
			depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
			if (*at != ',' || depth > 0)
				continue;
		}
		kernel->args[kernel->n_args++].kind =
			kind_of(start, (size_t)(at - start));
		start = at + 1;
	}
	kernel->n_unset = kernel->n_args;
}

void dcl_source_args(const char *text, cl_kernel kernel)
{
	const char *at = text, *name, *args;
	size_t name_bytes, args_bytes;

	while ((at = next_kernel(at, &name, &name_bytes, &args, &args_bytes)))
		if (name_bytes == strlen(kernel->name) &&
			strncmp(name, kernel->name, name_bytes) == 0) {
			read_args(args, args_bytes, kernel);
			return;
		}
}
