/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;
struct clv_request;

/* The items of a long list, each made text as soon as it is rendered.  The values of a
 * hundred leases are some ten thousand allocations: where they live at the same time,
 * they scatter over the heap of an agent with many leases, which doubles the time of a
 * page. Loop thread only; empty when zeroed. */
struct clv_item_list {
	char *text;
	size_t n_bytes, room;
	size_t n;
	bool has_failed; /* out of memory */
};

/* Appends the item, which is taken, as the request's caller may see it. */
void clv_item_list_add(
	struct clv_item_list *list, const struct clv_request *request, json_t *item);

/* Makes {"items": [...], MEMBERS OF rest} the answer of the request, with status 200.
 * Takes `rest`, which has at least one member, and leaves the list empty.  -ENOMEM */
int clv_item_list_answer(struct clv_item_list *list, json_t *rest,
	struct clv_request *request, struct clv_error *err);
