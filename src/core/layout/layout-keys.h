/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"

/* The tables of keys by which layouts are parsed, for the test that compares
 * docs/layout.md and docs/layout.schema.json with them. */
struct clv_layout_map {
	const char *name; /* "rule" */
	const struct clv_yaml_field *fields;
	size_t n_fields;
};

extern const struct clv_layout_map clv_layout_maps[];
extern const size_t clv_layout_n_maps;
