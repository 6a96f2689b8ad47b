/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the table of verbs that main() has, for the rooms below it. */
#include "cli/frame/verb-table.h"

#include "cli/frame/opt.h"

#include <string.h>

static const struct clv_verb_table *verbs;

void clv_verb_table_set(const struct clv_verb_table *table)
{
	verbs = table;
}

const struct clv_verb_table *clv_verb_table(void)
{
	return verbs;
}

const struct clv_verb *clv_verb_find(const char *name)
{
	for (size_t i = 0; i < verbs->n; i++) {
		if (strcmp(verbs->items[i]->name, name) == 0)
			return verbs->items[i];
	}
	return NULL;
}
