/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_verb;

/* The verbs that there are, for those who list all of them. */
struct clv_verb_table {
	const struct clv_verb *root; /* cleave itself */
	const struct clv_verb *const *items;
	size_t n;
};

/* By main, before anything else; static. */
void clv_verb_table_set(const struct clv_verb_table *table);
const struct clv_verb_table *clv_verb_table(void);

/* NULL when there is none of that name. */
const struct clv_verb *clv_verb_find(const char *name);
