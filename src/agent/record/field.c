/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in tables of fields. */
#include "agent/record/field.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct clv_field *clv_field_asked(
	const struct clv_field_table *table, unsigned int number)
{
	for (size_t i = 0; i < table->n; i++) {
		if (number > 0 && table->rows[i].asked.number == number)
			return &table->rows[i];
	}
	return NULL;
}

const struct clv_field *clv_field_asked_by_name(
	const struct clv_field_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++) {
		if (table->rows[i].asked.number > 0 &&
			strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	}
	return NULL;
}

/* The first field, from this number on, that these requests may have. */
static const struct clv_field *next_asked(
	const struct clv_field_table *table, unsigned int by, unsigned int number)
{
	const struct clv_field *field = clv_field_asked(table, number);

	while (field && !(field->asked.by & by))
		field = clv_field_asked(table, ++number);
	return field;
}

void clv_field_list_asked(const struct clv_field_table *table, unsigned int by,
	const char *last_word, char *ret, size_t ret_bytes)
{
	const struct clv_field *field = next_asked(table, by, 1), *next;
	size_t used = 0;

	assert(ret_bytes > 0);
	ret[0] = '\0';
	for (; field; field = next) {
		char item[64];

		next = next_asked(table, by, field->asked.number + 1u);
		snprintf(item, sizeof(item), "%s%s%s%s",
			used == 0 ? ""
			: next    ? ", "
				  : " ",
			used > 0 && !next ? last_word : "", used > 0 && !next ? " " : "",
			field->name);
		if (used + strlen(item) < ret_bytes)
			memcpy(ret + used, item, strlen(item) + 1);
		used = strlen(ret);
	}
}

void clv_field_copy_request(
	const struct clv_field_table *table, const void *request, void *record)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct clv_field *field = &table->rows[i];

		if (!field->asked.passes)
			continue;
		assert(field->asked.kind == field->kind &&
			field->asked.room == field->room);
		memcpy((char *)record + field->offset,
			(const char *)request + field->asked.offset, field->room);
	}
}

uint64_t clv_field_hash(const void *bytes, size_t n_bytes, uint64_t hash)
{
	const char *at = bytes;

	/* Eight bytes at a time: the list of leases hashes ten thousand objects. */
	for (size_t n; n_bytes > 0; n_bytes -= n, at += n) {
		uint64_t word = n_bytes;

		n = n_bytes < sizeof(word) ? n_bytes : sizeof(word);
		memcpy(&word, at, n);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* With the final NUL, so that two texts in succession cannot equal two others. */
uint64_t clv_field_hash_text(const char *text, uint64_t hash)
{
	return clv_field_hash(text, strlen(text) + 1, hash);
}

uint64_t clv_field_hash_changes(const struct clv_field_table *table, const void *record,
	const void *sample, uint64_t hash)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct clv_field *field = &table->rows[i];
		bool is_sampled = field->source == CLV_FIELD_OF_SAMPLE;
		const char *member =
			(const char *)(is_sampled ? sample : record) + field->offset;

		if (field->kind == CLV_FIELD_NONE || field->drifts ||
			!(is_sampled || field->changes))
			continue;
		hash = field->kind == CLV_FIELD_TEXT
			       ? clv_field_hash_text(member, hash)
			       : clv_field_hash(member, field->room, hash);
	}
	return hash;
}
