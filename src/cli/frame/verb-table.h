/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct clv_verb;

/* All verbs, for code that lists them, such as help and completion. */
struct clv_verb_table {
	const struct clv_verb *root; /* cleave itself */
	const struct clv_verb *const *items;
	size_t n;
};

/* Called by main() before all other functions; the table is static. */
void clv_verb_table_set(const struct clv_verb_table *table);
const struct clv_verb_table *clv_verb_table(void);

/* Looks a verb up by its name; NULL if there is none. */
const struct clv_verb *clv_verb_find(const char *name);
