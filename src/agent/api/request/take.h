/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_field;

/* Read values of a body's fields.  Return 0, -EINVAL for a wrong type or -ERANGE for a
 * value out of range; the message begins with the field's name. */
int clv_take_text(const char *field, const json_t *value, char *ret, size_t room,
	struct clv_error *err);
int clv_take_fraction(
	const char *field, const json_t *value, uint32_t *ret, struct clv_error *err);
int clv_take_bool(
	const char *field, const json_t *value, bool *ret, struct clv_error *err);

/* Reads the value into the member of *request that the field's row describes. */
int clv_take_field(const struct clv_field *field, const json_t *value, void *request,
	struct clv_error *err);
