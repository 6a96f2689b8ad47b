/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: memory. */
#include "core/layout/layout.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const on_busy_names[_CLV_ON_BUSY_MAX] = {
	[CLV_ON_BUSY_FAIL] = "fail",
	[CLV_ON_BUSY_WAIT] = "wait",
	[CLV_ON_BUSY_LIST] = "list",
};

const char *clv_on_busy_to_string(enum clv_on_busy on_busy)
{
	return on_busy_names[on_busy];
}

static void clear_rule(struct clv_layout_rule *rule)
{
	for (size_t i = 0; i < rule->n_partitions; i++) {
		free(rule->partitions[i].starts);
		free(rule->partitions[i].parts);
		free(rule->partitions[i].shares.items);
	}
	free(rule->partitions);
	free(rule->shares.items);
	free(rule->select.indexes);
	free(rule->select.names);
}

void clv_layout_clear(struct clv_layout *layout)
{
	for (size_t i = 0; i < layout->n_rules; i++)
		clear_rule(&layout->rules[i]);
	free(layout->rules);
	*layout = (struct clv_layout){0};
}

void clv_layout_remove_rule(struct clv_layout *layout, size_t at)
{
	clear_rule(&layout->rules[at]);
	memmove(&layout->rules[at], &layout->rules[at + 1],
		(layout->n_rules - at - 1) * sizeof(layout->rules[0]));
	layout->n_rules--;
}

struct clv_layout_rule *clv_layout_add_rule(struct clv_layout *layout)
{
	return CLV_APPEND(layout->rules, layout->n_rules);
}

struct clv_layout_partition *clv_layout_add_partition(struct clv_layout_rule *rule)
{
	rule->has_partitions = true;
	return CLV_APPEND(rule->partitions, rule->n_partitions);
}

struct clv_layout_share *clv_layout_add_share(struct clv_layout_shares *shares)
{
	return CLV_APPEND(shares->items, shares->n);
}

static int add_number(uint32_t **numbers, size_t *n, uint32_t number)
{
	uint32_t *items = *numbers;
	uint32_t *slot = CLV_APPEND(items, *n);

	*numbers = items;
	if (!slot)
		return -ENOMEM;
	*slot = number;
	return 0;
}

int clv_layout_add_start(struct clv_layout_partition *partition, uint32_t start)
{
	return add_number(&partition->starts, &partition->n_starts, start);
}

int clv_layout_add_part(struct clv_layout_partition *partition, uint32_t part)
{
	return add_number(&partition->parts, &partition->n_parts, part);
}

int clv_selector_add_index(struct clv_selector *select, uint32_t index)
{
	return add_number(&select->indexes, &select->n_indexes, index);
}

int clv_selector_add_name(struct clv_selector *select, const char *name)
{
	char(*slot)[96] = CLV_APPEND(select->names, select->n_names);

	if (!slot)
		return -ENOMEM;
	snprintf(*slot, sizeof(*slot), "%s", name);
	return 0;
}

void clv_selector_begin_key(struct clv_selector *select)
{
	if (select->n_names > 0 && select->n_more < CLV_ARRAY_SIZE(select->more_at))
		select->more_at[select->n_more++] = select->n_names;
}

size_t clv_selector_end_of_key(const struct clv_selector *select, size_t begin)
{
	for (size_t i = 0; i < select->n_more; i++) {
		if (select->more_at[i] > begin)
			return select->more_at[i];
	}
	return select->n_names;
}

bool clv_is_given_name(const char *name)
{
	if (strncmp(name, "gpu", 3) != 0 || !isdigit((unsigned char)name[3]))
		return false;
	return name[3 + strspn(name + 3, "0123456789")] == '\0';
}
