/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers share: texts, words, durations, remarks, refused keys. */
#include "service/internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int clv_service_no_memory(struct clv_yaml_value place, struct clv_error *err)
{
	return clv_yaml_fail(place, err, -ENOMEM, "out of memory");
}

int clv_service_remark(struct clv_services *services, struct clv_yaml_value place,
	struct clv_error *err, const char *format, ...)
{
	struct clv_service_remark *remark =
		CLV_APPEND(services->remarks, services->n_remarks);
	struct clv_error text = {0};
	va_list args;

	if (!remark)
		return clv_service_no_memory(place, err);
	va_start(args, format);
	clv_error_setv(&text, 0, format, args);
	va_end(args);
	clv_yaml_prefix_position(place, &text);
	snprintf(remark->text, sizeof(remark->text), "%s", text.msg);
	return 0;
}

const char *clv_service_own(struct clv_services *services, const char *text, size_t n)
{
	char *copy = strndup(text, n);
	char **place = copy ? CLV_APPEND(services->owned, services->n_owned) : NULL;

	if (!place) {
		free(copy);
		return NULL;
	}
	*place = copy;
	return copy;
}

int clv_service_add_text(struct clv_yaml_value place, struct clv_service_texts *texts,
	const char *text, struct clv_error *err)
{
	const char **item = text ? CLV_APPEND(texts->items, texts->n) : NULL;

	if (!item)
		return clv_service_no_memory(place, err);
	*item = text;
	return 0;
}

int clv_service_read_text(
	struct clv_yaml_value value, const char **ret, struct clv_error *err)
{
	if (clv_yaml_kind(value) != CLV_YAML_TEXT)
		return clv_yaml_fail(value, err, -EINVAL, "a text is expected here");
	*ret = clv_yaml_text(value);
	return 0;
}

/* Reads a word at *at into buffer, which has room for the rest of the text.  Returns its
 * length, or -EINVAL if a quote is not closed. */
static ssize_t read_word(const char **at, char *buffer)
{
	const char *p = *at;
	ssize_t n = 0;
	char quote = 0;

	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
		} else if (*p == '\\' && quote != '\'' && p[1] &&
			   (!quote || strchr("\\\"$`", p[1]))) {
			buffer[n++] = *++p;
		} else {
			buffer[n++] = *p;
		}
	}
	*at = p;
	return quote ? -EINVAL : n;
}

static int split(struct clv_services *services, struct clv_yaml_value value,
	struct clv_service_texts *ret, struct clv_error *err)
{
	const char *at = clv_yaml_text(value);
	_cleanup_free_ char *buffer = malloc(strlen(at) + 1);
	int r = 0;

	if (!buffer)
		return clv_service_no_memory(value, err);
	for (;;) {
		ssize_t n;

		while (isspace((unsigned char)*at))
			at++;
		if (!*at || r < 0)
			return r;
		n = read_word(&at, buffer);
		if (n < 0)
			return clv_yaml_fail(
				value, err, -EINVAL, "a quote in it is not closed");
		r = clv_service_add_text(
			value, ret, clv_service_own(services, buffer, (size_t)n), err);
	}
}

int clv_service_read_words(struct clv_services *services, struct clv_yaml_value value,
	struct clv_service_texts *ret, struct clv_error *err)
{
	int r = 0;

	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	if (clv_yaml_kind(value) == CLV_YAML_TEXT)
		return split(services, value, ret, err);
	if (clv_yaml_kind(value) != CLV_YAML_LIST)
		return clv_yaml_fail(value, err, -EINVAL,
			"a text or a list of texts is expected here");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++) {
		const char *text = NULL;

		r = clv_service_read_text(clv_yaml_item(value, i), &text, err);
		if (r >= 0)
			r = clv_service_add_text(value, ret, text, err);
	}
	return r;
}

/* The unit at text, and the length of its name; NULL: none. */
static uint64_t unit_of(const char *text, size_t *ret_n)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"us", CLV_NS_PER_US},
		{"ms", CLV_NS_PER_MS},
		{"s", CLV_NS_PER_S},
		{"m", 60 * CLV_NS_PER_S},
		{"h", 3600 * CLV_NS_PER_S},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(units); i++) {
		*ret_n = strlen(units[i].name);
		if (strncmp(text, units[i].name, *ret_n) == 0)
			return units[i].ns;
	}
	return 0;
}

#define DURATION_MAX_NS (UINT64_C(100) * 24 * 3600 * CLV_NS_PER_S)

int clv_service_read_duration(
	struct clv_yaml_value value, uint64_t *ret_ns, struct clv_error *err)
{
	const char *at = clv_yaml_text(value);
	uint64_t sum = 0;

	if (!*at)
		return clv_yaml_fail(value, err, -EINVAL, "a duration is expected here");
	while (*at) {
		char *end;
		uint64_t number = strtoull(at, &end, 10), unit;
		size_t n = 0;

		unit = isdigit((unsigned char)*at) ? unit_of(end, &n) : 0;
		if (!unit)
			return clv_yaml_fail(value, err, -EINVAL,
				"'%.40s' is no duration: write 500ms, 30s or 1m30s",
				clv_yaml_text(value));
		if (number > DURATION_MAX_NS / unit ||
			sum + number * unit > DURATION_MAX_NS)
			return clv_yaml_fail(value, err, -ERANGE,
				"'%.40s' is too long: at most 2400h",
				clv_yaml_text(value));
		sum += number * unit;
		at = end + n;
	}
	*ret_ns = sum;
	return 0;
}

int clv_service_skip(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return 0;
}

int clv_service_refuse(struct clv_yaml_value map, const struct clv_service_refusal *rows,
	size_t n, struct clv_error *err)
{
	if (clv_yaml_kind(map) != CLV_YAML_MAP)
		return 0;
	for (size_t i = 0; i < clv_yaml_count(map); i++) {
		struct clv_yaml_value key = clv_yaml_key(map, i);

		for (size_t j = 0; j < n; j++) {
			if (strcmp(rows[j].key, clv_yaml_text(key)) == 0)
				return clv_yaml_fail(key, err, -EINVAL,
					"%s is not supported: %s", rows[j].key,
					rows[j].instead);
		}
	}
	return 0;
}
