/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in texts of a compose file. */
#include "service/interpolate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "service/service.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8
#define NAME_MAX_BYTES 128
#define TEXT_MAX_BYTES (1u << 16) /* of one text: a variable may appear many times */

struct expansion {
	const struct clv_variables *variables;
	void (*on_unset)(void *userdata, const char *name);
	void *userdata;
	FILE *to;
	struct clv_error *err;
	unsigned depth;
};

static int expand(struct expansion *x, const char **at, bool is_inner, bool is_used);

static void put(const struct expansion *x, const char *text, bool is_used)
{
	if (is_used)
		fputs(text, x->to);
}

static int fail_form(const struct expansion *x, const char *at)
{
	return clv_error_set(x->err, -EINVAL,
		"'%.40s' is no variable: write $NAME, ${NAME} or ${NAME:-TEXT}, and $$ "
		"for a dollar sign",
		at);
}

/* Reads a name at *at and moves behind it; false if there is none. */
static bool read_name(const char **at, char name[NAME_MAX_BYTES])
{
	size_t n = 0;

	if (!isalpha((unsigned char)**at) && **at != '_')
		return false;
	while (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_')
		n++;
	if (n >= NAME_MAX_BYTES)
		return false;
	memcpy(name, *at, n);
	name[n] = '\0';
	*at += n;
	return true;
}

/* Expands the text of ${NAME?TEXT} for the message. */
static int fail_required(struct expansion *x, const char *name, const char **at)
{
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;
	FILE *outer = x->to;
	int r;

	x->to = open_memstream(&text, &n_bytes);
	if (!x->to) {
		x->to = outer;
		return clv_error_errno(x->err, ENOMEM, "cannot expand %s", name);
	}
	r = expand(x, at, true, true);
	fclose(x->to);
	x->to = outer;
	if (r < 0)
		return r;
	return clv_error_set(x->err, -EINVAL, "the variable %.40s is not set%s%.200s",
		name, text[0] ? ": " : "", text);
}

/* The part of ${NAME...} after the name, up to and with the closing brace. */
static int expand_operator(
	struct expansion *x, const char *name, const char **at, bool is_used)
{
	const char *value = x->variables->get(x->variables->userdata, name);
	bool with_empty = **at == ':', is_set;
	char operator;

	if (with_empty)
		(*at)++;
	operator= ** at;
	if (operator!= '-' && operator!= '?' && operator!= '+')
		return fail_form(x, name);
	(*at)++;
	is_set = value && (!with_empty || value[0]);
	if (operator== '?' && !is_set && is_used)
		return fail_required(x, name, at);
	if (operator!= '+' && is_set)
		put(x, value, is_used);
	return expand(
		x, at, true, is_used && operator!= '?' && is_set ==(operator== '+'));
}

static int expand_plain(struct expansion *x, const char *name, bool is_used)
{
	const char *value = x->variables->get(x->variables->userdata, name);

	if (value)
		put(x, value, is_used);
	else if (is_used && x->on_unset)
		x->on_unset(x->userdata, name);
	return 0;
}

/* At the character after '$'. */
static int expand_variable(struct expansion *x, const char **at, bool is_used)
{
	const char *begin = *at - 1;
	char name[NAME_MAX_BYTES];
	int r;

	if (**at == '$') {
		(*at)++;
		put(x, "$", is_used);
		return 0;
	}
	if (**at != '{')
		return read_name(at, name) ? expand_plain(x, name, is_used)
					   : fail_form(x, begin);
	(*at)++;
	if (!read_name(at, name))
		return fail_form(x, begin);
	if (**at == '}') {
		(*at)++;
		return expand_plain(x, name, is_used);
	}
	if (++x->depth > DEPTH_MAX)
		return clv_error_set(x->err, -EINVAL,
			"'%.40s': variables are nested more than %d deep", begin,
			DEPTH_MAX);
	r = expand_operator(x, name, at, is_used);
	x->depth--;
	return r;
}

/* Up to the end of the text or, inside of braces, the closing brace, which is read too.
 */
static int expand(struct expansion *x, const char **at, bool is_inner, bool is_used)
{
	const char *begin = *at;

	while (**at) {
		char c = *(*at)++;
		int r = 0;

		if (is_inner && c == '}')
			return 0;
		if (c == '$')
			r = expand_variable(x, at, is_used);
		else if (is_used)
			fputc(c, x->to);
		if (r < 0)
			return r;
		if (ftell(x->to) > (long)TEXT_MAX_BYTES)
			return clv_error_set(x->err, -E2BIG,
				"longer than %u bytes with its variables",
				TEXT_MAX_BYTES);
	}
	if (!is_inner)
		return 0;
	return clv_error_set(
		x->err, -EINVAL, "the closing brace of '${...%.40s' is missing", begin);
}

int clv_interpolate(const char *text, const struct clv_variables *variables,
	void (*on_unset)(void *userdata, const char *name), void *userdata, char **ret,
	struct clv_error *err)
{
	struct expansion x = {variables, on_unset, userdata, NULL, err, 0};
	char *made = NULL;
	size_t n_bytes;
	int r;

	*ret = NULL;
	if (!strchr(text, '$'))
		return 0;
	x.to = open_memstream(&made, &n_bytes);
	if (!x.to)
		return clv_error_errno(err, ENOMEM, "cannot expand variables");
	r = expand(&x, &text, false, true);
	if (fclose(x.to) != 0 && r >= 0)
		r = clv_error_errno(err, ENOMEM, "cannot expand variables");
	if (r < 0) {
		free(made);
		return r;
	}
	*ret = made;
	return 0;
}
