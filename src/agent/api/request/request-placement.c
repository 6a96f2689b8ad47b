/* SPDX-License-Identifier: Apache-2.0 */
/* {"leases": [{"lease", "instead_of", "ends_first"}], "gone": ["NAME"]} */
#include "agent/api/request/request-placement.h"

#include "agent/api/request/request.h"
#include "agent/api/request/take.h"
#include "agent/http/http.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void clv_placements_request_clear(struct clv_placements_request *request)
{
	free(request->items);
	free(request->gone);
}

static int take_member(const char *name, const json_t *value,
	struct clv_placement_request *ret, struct clv_error *err)
{
	if (strcmp(name, "lease") == 0)
		return clv_request_read_lease(value, &ret->lease, err);
	if (strcmp(name, "instead_of") == 0)
		return clv_take_text(
			name, value, ret->instead_of, sizeof(ret->instead_of), err);
	if (strcmp(name, "ends_first") == 0)
		return clv_take_bool(name, value, &ret->ends_first, err);
	return clv_error_set(err, -EINVAL,
		"one of leases has an unknown field: known are lease, instead_of and "
		"ends_first");
}

static int take_item(
	json_t *item, struct clv_placement_request *ret, struct clv_error *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	if (!json_is_object(json_object_get(item, "lease")))
		return clv_error_set(err, -EINVAL,
			"each of leases must be {\"lease\": {...}}, what POST "
			"/v1/leases takes");
	json_object_foreach (item, name, value) {
		if (r >= 0)
			r = take_member(name, value, ret, err);
	}
	if (r >= 0 && ret->lease.has_user)
		return clv_error_set(err, -EINVAL,
			"user has no meaning here: the leases are the caller's");
	return r;
}

/* Fails if the list is none, or has too many items. */
static int begin_list(
	const char *name, const json_t *list, size_t *ret_n, struct clv_error *err)
{
	if (list && !json_is_array(list))
		return clv_error_set(err, -EINVAL, "%s must be a list", name);
	if (json_array_size(list) > CLV_PLACEMENTS_MAX)
		return clv_error_set(err, -ERANGE,
			"%s has more than %u items: ask about "
			"fewer at a time",
			name, CLV_PLACEMENTS_MAX);
	*ret_n = json_array_size(list);
	return 0;
}

static int take_leases(
	const json_t *root, struct clv_placements_request *ret, struct clv_error *err)
{
	const json_t *list = json_object_get(root, "leases");
	int r = begin_list("leases", list, &ret->n, err);

	ret->items = r < 0 ? NULL : calloc(ret->n + 1, sizeof(*ret->items));
	if (r >= 0 && !ret->items)
		r = clv_error_errno(err, ENOMEM, "cannot read the request");
	for (size_t i = 0; i < ret->n && r >= 0; i++)
		r = take_item(json_array_get(list, i), &ret->items[i], err);
	return r;
}

static int take_gone(
	const json_t *root, struct clv_placements_request *ret, struct clv_error *err)
{
	const json_t *list = json_object_get(root, "gone");
	int r = begin_list("gone", list, &ret->n_gone, err);

	ret->gone = r < 0 ? NULL : calloc(ret->n_gone + 1, sizeof(*ret->gone));
	if (r >= 0 && !ret->gone)
		r = clv_error_errno(err, ENOMEM, "cannot read the request");
	for (size_t i = 0; i < ret->n_gone && r >= 0; i++)
		r = clv_take_text("gone", json_array_get(list, i), ret->gone[i],
			sizeof(ret->gone[i]), err);
	return r;
}

int clv_request_parse_placements(const char *data, size_t n_bytes,
	struct clv_placements_request *ret, struct clv_error *err)
{
	json_t *root;
	int r;

	*ret = (struct clv_placements_request){0};
	if (n_bytes > CLV_REQUEST_MAX_BYTES)
		return clv_error_set(err, -EMSGSIZE,
			"the body is over %u bytes: ask about fewer leases at a time",
			CLV_REQUEST_MAX_BYTES);
	root = json_loadb(data, n_bytes, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(root) || !json_object_get(root, "leases") ||
		json_object_size(root) != 1 + (json_object_get(root, "gone") != NULL))
		r = clv_error_set(err, -EINVAL,
			"the body must be {\"leases\": [{\"lease\": {...}}], \"gone\": "
			"[\"NAME\"]}, where gone may be missing");
	else
		r = take_leases(root, ret, err);
	if (r >= 0)
		r = take_gone(root, ret, err);
	json_decref(root);
	return r;
}
