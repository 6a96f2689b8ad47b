/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object of the API, a row for each of its fields: what it is called, its type and a
 * text about it, which member of a struct has it, which column of the state file keeps
 * it, and who may set it.  Requests are parsed, state is stored, answers and
 * /openapi.json are made from the rows; docs/api.md and the console's types are held to
 * them by a test. */

/* How a member keeps a value.  In the state file PPM, NS and TIME are integers, CLASS,
 * ADMIT and SCOPE texts. */
enum clv_field_kind {
	CLV_FIELD_NONE,
	CLV_FIELD_TEXT, /* char[] */
	CLV_FIELD_BOOL,
	CLV_FIELD_I32,
	CLV_FIELD_U32,
	CLV_FIELD_U64,
	CLV_FIELD_PPM,   /* uint32_t, parts per million; in JSON a fraction */
	CLV_FIELD_PPM64, /* the same in uint64_t */
	CLV_FIELD_NS,    /* 64 bits, nanoseconds; in JSON seconds */
	CLV_FIELD_TIME,  /* uint64_t, nanoseconds since 1970; in JSON RFC 3339 */
	CLV_FIELD_CLASS, /* enum clv_class */
	CLV_FIELD_ADMIT, /* enum clv_admit */
	CLV_FIELD_SCOPE, /* enum clv_scope */
	CLV_FIELD_OWNER, /* uid_t of a tenant; the largest, nobody, is kept as -1 */
	CLV_FIELD_BYTES, /* uint8_t[], which is not shown */
	_CLV_FIELD_KIND_MAX,
};

/* A member of a row, with how it keeps its value. */
#define CLV_FIELD_MEMBER(type, how, member)                        \
	.kind = CLV_FIELD_##how, .offset = offsetof(type, member), \
	.room = sizeof(((type *)NULL)->member)

enum clv_field_source {
	CLV_FIELD_OF_RECORD,   /* the member below */
	CLV_FIELD_OF_SAMPLE,   /* a member of a struct that is filled to be shown */
	CLV_FIELD_BY_FUNCTION, /* of agent/api/show */
	CLV_FIELD_ELSEWHERE,   /* whoever shows the object adds it */
};

/* Which requests may have a field. */
#define CLV_FIELD_CREATE 1u
#define CLV_FIELD_CHANGE 2u

/* A field in requests.  One of which more is asked than a type and a range has a function
 * in agent/api/request; it may have no kind. */
struct clv_field_ask {
	uint8_t number; /* from 1, in the order of the texts about requests; 0: in none */
	uint8_t by;     /* CLV_FIELD_CREATE, CLV_FIELD_CHANGE */
	const char *type;
	const char *about;
	enum clv_field_kind kind;
	size_t offset, room;  /* in the request's struct */
	uint64_t least, most; /* of whole numbers */
	const char *unit;     /* of whole numbers; NULL: none */
	/* As it was asked for it goes into the record, which has a member of this kind.
	 */
	bool passes;
};

struct clv_field {
	const char *name; /* NULL: it is only kept */
	/* In answers, as agent/api/object/schemas.h says; NULL: in none.  With a "?"
	 * behind it 0 and "" are shown as null. */
	const char *type;
	const char *about; /* NULL: the name says it */
	enum clv_field_source source;
	enum clv_field_kind kind;
	size_t offset, room;
	const char *column; /* in the state file; NULL: it is not kept */
	uint8_t since;      /* the version of the state file that has the column first */
	bool changes;       /* the column, after its row was made */
	struct clv_field_ask asked;
};

struct clv_field_table {
	const struct clv_field *rows;
	size_t n;
};

/* The field of that number in requests; NULL behind the last. */
const struct clv_field *clv_field_asked(
	const struct clv_field_table *table, unsigned int number);
const struct clv_field *clv_field_asked_by_name(
	const struct clv_field_table *table, const char *name);

/* "a, b and c": what may be asked for by these requests, in the order of the numbers.
 * What does not fit is left out. */
void clv_field_list_asked(const struct clv_field_table *table, unsigned int by,
	const char *last_word, char *ret, size_t ret_bytes);

/* Copies what passes from a request into a record. */
void clv_field_pass(
	const struct clv_field_table *table, const void *request, void *record);
