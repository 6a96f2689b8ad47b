/* SPDX-License-Identifier: Apache-2.0 */
/* Maps by tables of keys, lists, and scalars by type.  Errors name line and column. */
#include "base/yaml.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 64u

static int fail_with_key(struct clv_yaml_value key, const struct clv_yaml_field *fields,
	size_t n_fields, struct clv_error *err)
{
	const char *names[FIELDS_MAX];
	const char *nearest;
	char known[256] = "";

	if (n_fields > FIELDS_MAX)
		n_fields = FIELDS_MAX;
	for (size_t i = 0; i < n_fields; i++) {
		names[i] = fields[i].key;
		clv_text_list(known, sizeof(known), names[i]);
	}
	nearest = clv_suggest(clv_yaml_text(key), names, n_fields);
	if (nearest)
		return clv_yaml_fail(key, err, -EINVAL,
			"unknown key '%.40s': did you mean '%s'?", clv_yaml_text(key),
			nearest);
	return clv_yaml_fail(key, err, -EINVAL, "unknown key '%.40s': known keys are %s",
		clv_yaml_text(key), known);
}

static bool matches(const char *key, const char *text)
{
	size_t n = strlen(key);

	if (n > 0 && key[n - 1] == '*')
		return strncmp(key, text, n - 1) == 0;
	return strcmp(key, text) == 0;
}

static int read_pair(struct clv_yaml_value map, size_t at,
	const struct clv_yaml_field *fields, size_t n_fields, void *into,
	struct clv_error *err)
{
	const char *text = clv_yaml_text(clv_yaml_key(map, at));

	for (size_t i = 0; i < n_fields; i++) {
		if (matches(fields[i].key, text))
			return fields[i].read(clv_yaml_at(map, at),
				(char *)into + fields[i].offset, err);
	}
	return fail_with_key(clv_yaml_key(map, at), fields, n_fields, err);
}

/* A walk over the parts of a map or a list. */
struct parts {
	struct clv_yaml_mistakes *mistakes;
	struct clv_error *err;
	size_t n_before; /* mistakes before the current part */
	int first;       /* the code of the first mistake */
};

static struct parts begin_parts(struct clv_yaml_value whole, struct clv_error *err)
{
	struct clv_yaml_mistakes *mistakes = clv_yaml_mistakes(whole);

	return (struct parts){mistakes, err, mistakes ? mistakes->n : 0, 0};
}

/* Takes the result of a part; whether the next one is read.  Mistakes within the part
 * have been reported already. */
static bool take_part(struct parts *parts, int r)
{
	if (r < 0 && parts->first == 0)
		parts->first = r;
	if (!parts->mistakes)
		return r >= 0;
	if (r < 0 && parts->mistakes->n == parts->n_before) {
		parts->mistakes->n++;
		parts->mistakes->on_mistake(parts->mistakes->userdata, parts->err);
	}
	parts->n_before = parts->mistakes->n;
	return true;
}

int clv_yaml_read_map(struct clv_yaml_value map, const struct clv_yaml_field *fields,
	size_t n_fields, void *into, struct clv_error *err)
{
	struct parts parts = begin_parts(map, err);
	struct clv_yaml_value found;
	bool goes_on = true;

	if (clv_yaml_kind(map) != CLV_YAML_MAP)
		return clv_yaml_fail(
			map, err, -EINVAL, "keys with values are expected here");
	for (size_t i = 0; i < clv_yaml_count(map) && goes_on; i++)
		goes_on =
			take_part(&parts, read_pair(map, i, fields, n_fields, into, err));
	for (size_t i = 0; i < n_fields && goes_on; i++) {
		if (fields[i].is_required && !clv_yaml_find(map, fields[i].key, &found))
			goes_on = take_part(&parts,
				clv_yaml_fail(map, err, -EINVAL,
					"the key '%s' is missing", fields[i].key));
	}
	return parts.first;
}

int clv_yaml_read_list(struct clv_yaml_value list,
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err),
	void *into, struct clv_error *err)
{
	struct parts parts = begin_parts(list, err);
	bool goes_on = true;

	if (clv_yaml_kind(list) != CLV_YAML_LIST)
		return read(list, into, err);
	for (size_t i = 0; i < clv_yaml_count(list) && goes_on; i++)
		goes_on = take_part(&parts, read(clv_yaml_item(list, i), into, err));
	return parts.first;
}

int clv_yaml_read_text(
	struct clv_yaml_value value, char *ret, size_t ret_bytes, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);

	if (clv_yaml_kind(value) != CLV_YAML_TEXT)
		return clv_yaml_fail(value, err, -EINVAL, "a text is expected here");
	if (text[0] == '\0')
		return clv_yaml_fail(value, err, -EINVAL,
			"a text is expected here: this one is empty");
	if (strlen(text) >= ret_bytes)
		return clv_yaml_fail(value, err, -ERANGE,
			"this text has %zu bytes: at most %zu", strlen(text),
			ret_bytes - 1);
	if (!clv_text_is_line(text))
		return clv_yaml_fail(value, err, -EINVAL,
			"this text has a line break or a control character in it: "
			"leave it out");
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

int clv_yaml_read_number(struct clv_yaml_value value, uint64_t least, uint64_t most,
	uint64_t *ret, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0')
		return clv_yaml_fail(
			value, err, -EINVAL, "a whole number is expected here");
	if (errno != 0 || number < least || number > most)
		return clv_yaml_fail(value, err, -ERANGE,
			"%.30s is out of range: from %llu to %llu", text,
			(unsigned long long)least, (unsigned long long)most);
	*ret = number;
	return 0;
}

int clv_yaml_read_bool(struct clv_yaml_value value, bool *ret, struct clv_error *err)
{
	static const char *const names[] = {"false", "true", "off", "on", "no", "yes"};
	const char *text = clv_yaml_text(value);

	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret = i % 2;
			return 0;
		}
	}
	return clv_yaml_fail(value, err, -EINVAL, "'%.40s' is neither on nor off", text);
}

int clv_yaml_read_choice(struct clv_yaml_value value, const char *const *names,
	size_t n_names, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	char known[256] = "";

	for (size_t i = 0; i < n_names; i++) {
		if (strcmp(text, names[i]) == 0)
			return (int)i;
		clv_text_list(known, sizeof(known), names[i]);
	}
	return clv_yaml_fail(value, err, -EINVAL, "'%.40s' is none of %s", text, known);
}
