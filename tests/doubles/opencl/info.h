/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* Queries by table: a row has the location of a value, or the function that computes
 * it. */
enum dcl_info_kind {
	DCL_INFO_FIELD,    /* offset and bytes in the object */
	DCL_INFO_SIZED,    /* an array at `offset`, its size in bytes at `offset2` */
	DCL_INFO_STRING,   /* char array in the object */
	DCL_INFO_CONST,    /* bytes at `data` */
	DCL_INFO_MAKE,     /* make() */
	DCL_INFO_MAKE_U64, /* make_u64(), answered in `bytes` bytes */
};

struct dcl_info {
	cl_uint param;
	uint8_t kind;
	uint16_t bytes;
	size_t offset, offset2;
	const void *data;
	/* Returns the value; may store it in the 64 bytes of `scratch`. */
	const void *(*make)(const void *object, size_t *bytes, void *scratch);
	uint64_t (*make_u64)(const void *object);
};

cl_int dcl_info_get(const struct dcl_info *table, size_t rows, const void *object,
	cl_uint param, size_t bytes, void *ret, size_t *ret_bytes);

/* Answers one value by the API's rules of size and pointer. */
cl_int dcl_info_reply(const void *value, size_t value_bytes, size_t bytes, void *ret,
	size_t *ret_bytes);

#define DCL_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DCL_SIZE_OF(type, member) ((uint16_t)sizeof(((type *)0)->member))

/* clang-format off */
#define DCL_F(param_, type, member) \
	{ .param = (param_), .kind = DCL_INFO_FIELD, .bytes = DCL_SIZE_OF(type, member), \
	  .offset = offsetof(type, member) }
#define DCL_A(param_, type, member, size_member) \
	{ .param = (param_), .kind = DCL_INFO_SIZED, .offset = offsetof(type, member), \
	  .offset2 = offsetof(type, size_member) }
#define DCL_S(param_, type, member) \
	{ .param = (param_), .kind = DCL_INFO_STRING, .offset = offsetof(type, member) }
#define DCL_C(param_, type, ...) \
	{ .param = (param_), .kind = DCL_INFO_CONST, .bytes = sizeof(type), \
	  .data = &(const type){ __VA_ARGS__ } }
#define DCL_T(param_, text) \
	{ .param = (param_), .kind = DCL_INFO_CONST, .bytes = sizeof(text), .data = (text) }
#define DCL_NONE(param_) \
	{ .param = (param_), .kind = DCL_INFO_CONST, .bytes = 0, .data = "" }
#define DCL_M(param_, fn) \
	{ .param = (param_), .kind = DCL_INFO_MAKE, .make = (fn) }
#define DCL_U(param_, type, fn) \
	{ .param = (param_), .kind = DCL_INFO_MAKE_U64, .bytes = sizeof(type), .make_u64 = (fn) }
#define DCL_REFS(param_) \
	{ .param = (param_), .kind = DCL_INFO_FIELD, .bytes = sizeof(cl_uint), \
	  .offset = offsetof(struct dcl_object, users) }
/* clang-format on */
