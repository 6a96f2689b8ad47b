/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Fields by name, for the description and the state file alike. */

const char *const sy_no_yes[] = {"no", "yes", NULL};

static int word_index(const char *const *words, const char *text, size_t length)
{
	for (int i = 0; words[i]; i++) {
		if (strncmp(words[i], text, length) == 0 && !words[i][length])
			return i;
	}
	return -EINVAL;
}

static int set_words(uint64_t *bits, const char *const *words, const char *text)
{
	*bits = 0;
	while (*text) {
		size_t length = strcspn(text, ", ");
		int index = length ? word_index(words, text, length) : 0;

		if (index < 0)
			return index;
		if (length)
			*bits |= 1ULL << index;
		text += length;
		text += strspn(text, ", ");
	}
	return 0;
}

int sy_field_set(void *object, const struct sy_field *field, const char *text)
{
	void *at = (char *)object + field->offset;
	int index;

	switch (field->kind) {
	case SY_NUMBER:
		return sy_parse(text, UINT64_MAX, at);
	case SY_CHOICE:
		index = word_index(field->words, text, strlen(text));
		if (index >= 0)
			*(uint64_t *)at = (uint64_t)index;
		return index < 0 ? index : 0;
	case SY_WORDS:
		return set_words(at, field->words, text);
	case SY_STRING:
		if (strlen(text) >= field->size)
			return -EINVAL;
		strcpy(at, text);
		return 0;
	}
	return -EINVAL;
}

bool sy_field_is_zero(const void *object, const struct sy_field *field)
{
	const char *at = (const char *)object + field->offset;

	return field->kind == SY_STRING ? !*at : !*(const uint64_t *)(const void *)at;
}

void sy_field_get(const void *object, const struct sy_field *field, struct sy_text *ret)
{
	const void *at = (const char *)object + field->offset;
	const char *separator = "";
	uint64_t value;

	if (field->kind == SY_STRING) {
		sy_add(ret, "%s", (const char *)at);
		return;
	}
	value = *(const uint64_t *)at;
	if (field->kind == SY_NUMBER)
		sy_add(ret, "%" PRIu64, value);
	else if (field->kind == SY_CHOICE)
		sy_add(ret, "%s", field->words[value]);
	for (int i = 0; field->kind == SY_WORDS && field->words[i]; i++) {
		if (!(value & 1ULL << i))
			continue;
		sy_add(ret, "%s%s", separator, field->words[i]);
		separator = ", ";
	}
}
