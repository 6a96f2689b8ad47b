/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/api/show/item-list.h"

#include "agent/api/show/redact.h"
#include "agent/http/http.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "{\"items\":["
#define LEAST_ROOM 4096u

static void append(struct clv_item_list *list, const char *text, size_t n_bytes)
{
	size_t needed = list->n_bytes + n_bytes, room = list->room;
	char *grown;

	while (room < needed)
		room = room ? 2 * room : LEAST_ROOM;
	grown = room == list->room ? list->text : realloc(list->text, room);
	if (!grown) {
		list->has_failed = true;
		return;
	}
	memcpy(grown + list->n_bytes, text, n_bytes);
	list->text = grown;
	list->room = room;
	list->n_bytes = needed;
}

static void append_text(struct clv_item_list *list, const char *text)
{
	append(list, text, strlen(text));
}

static int take_part(const char *text, size_t n_bytes, void *userdata)
{
	append(userdata, text, n_bytes);
	return 0;
}

/* The item is written into the list.  A text of its own would grow step by step, and each
 * request of more than a kilobyte makes malloc join the small pieces that the item before
 * has left, which the next item needs again. */
void clv_item_list_add(
	struct clv_item_list *list, const struct clv_request *request, json_t *item)
{
	item = clv_redact_item(request, item);
	append_text(list, list->n++ > 0 ? "," : HEAD);
	if (json_dump_callback(item, take_part, list, CLV_ANSWER_FLAGS) < 0)
		list->has_failed = true;
	json_decref(item);
}

int clv_item_list_answer(struct clv_item_list *list, json_t *rest,
	struct clv_request *request, struct clv_error *err)
{
	_cleanup_free_ char *text = json_dumps(rest, CLV_ANSWER_FLAGS);

	json_decref(rest);
	if (list->n == 0)
		append_text(list, HEAD);
	append_text(list, "],");
	if (text)
		append_text(list, text + 1); /* without its brace */
	if (!text || list->has_failed) {
		free(list->text);
		*list = (struct clv_item_list){0};
		return clv_error_errno(err, ENOMEM, "cannot answer");
	}
	request->status = 200;
	request->text = list->text;
	request->n_bytes = list->n_bytes;
	request->content_type = "application/json";
	*list = (struct clv_item_list){0};
	return 0;
}
