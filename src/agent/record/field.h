/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables of the fields of the API's objects.  A row has a field's name, its type and
 * description, the struct member that holds it, the column of the state file that stores
 * it, and the requests that may set it.  Parsers of requests, statements of the state
 * file, answers and /openapi.json are derived from the rows; test_fields compares
 * docs/api.md and the console's types with them. */

/* The type of a member.  The state file stores PPM, NS and TIME as integers, and CLASS,
 * ADMIT and SCOPE as text. */
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
	CLV_FIELD_OWNER, /* uid_t of a tenant; (uid_t)-1, no tenant, is stored as -1 */
	CLV_FIELD_BYTES, /* uint8_t[], in no answer */
	_CLV_FIELD_KIND_MAX,
};

/* Initialisers of a row for a member: its type, offset and size. */
#define CLV_FIELD_MEMBER(type, how, member)                        \
	.kind = CLV_FIELD_##how, .offset = offsetof(type, member), \
	.room = sizeof(((type *)NULL)->member)

enum clv_field_source {
	CLV_FIELD_OF_RECORD, /* a member of the object's record */
	CLV_FIELD_OF_SAMPLE, /* a member of the sample, which is filled for the answer */
	CLV_FIELD_BY_FUNCTION, /* made by a function of agent/api/show */
	CLV_FIELD_BY_CALLER,   /* the caller of clv_field_to_json() adds it */
};

/* Which requests may have a field. */
#define CLV_FIELD_CREATE 1u
#define CLV_FIELD_CHANGE 2u

/* A field in requests.  If the checks of type and range do not suffice, a function of
 * agent/api/request parses it, and the kind may be CLV_FIELD_NONE. */
struct clv_field_request {
	uint8_t number; /* from 1: the order in messages; 0: in no request */
	uint8_t by;     /* CLV_FIELD_CREATE, CLV_FIELD_CHANGE */
	const char *type;
	const char *about;
	enum clv_field_kind kind;
	size_t offset, room;  /* in the request's struct */
	uint64_t least, most; /* the range of a whole number */
	const char *unit;     /* of a whole number; NULL: none */
	/* The value is copied unchanged into the record's member, which has the same kind
	 * and size. */
	bool passes;
};

struct clv_field {
	const char *name; /* NULL: only the state file has the field */
	/* The type in answers, in the notation of agent/api/object/schemas.h; NULL: in no
	 * answer.  With "?" at the end 0 and "" are shown as null. */
	const char *type;
	const char *about; /* NULL: the name suffices */
	enum clv_field_source source;
	enum clv_field_kind kind;
	size_t offset, room;
	const char *column; /* in the state file; NULL: not stored */
	uint8_t since;      /* the first version of the state file with the column */
	bool changes;       /* updates of a row write the column too */
	bool drifts; /* changes with time alone, which is no change of the object */
	struct clv_field_request asked;
};

struct clv_field_table {
	const struct clv_field *rows;
	size_t n;
};

/* The request field with this number, or with this name; NULL: there is none. */
const struct clv_field *clv_field_asked(
	const struct clv_field_table *table, unsigned int number);
const struct clv_field *clv_field_asked_by_name(
	const struct clv_field_table *table, const char *name);

/* Writes the names of the fields that these requests may have, ordered by number: "a, b
 * and c" with last_word "and".  Names that do not fit are left out. */
void clv_field_list_asked(const struct clv_field_table *table, unsigned int by,
	const char *last_word, char *ret, size_t ret_bytes);

/* A hash of bytes, which continues another; and one of the members that can change after
 * the object's creation, but for those that drift. */
uint64_t clv_field_hash(const void *bytes, size_t n_bytes, uint64_t hash);
uint64_t clv_field_hash_text(const char *text, uint64_t hash);
uint64_t clv_field_hash_changes(const struct clv_field_table *table, const void *record,
	const void *sample, uint64_t hash);

/* Copies the fields with asked.passes from a request into a record. */
void clv_field_copy_request(
	const struct clv_field_table *table, const void *request, void *record);
