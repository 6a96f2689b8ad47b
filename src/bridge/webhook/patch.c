/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operations of JSON Patch.  Only `add` is used, which also replaces members. */
#include "bridge/webhook/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int clv_patch_init(struct clv_patch *patch, const json_t *object)
{
	*patch = (struct clv_patch){
		.object = json_deep_copy(object), .operations = json_array()};
	if (patch->object && patch->operations)
		return 0;
	clv_patch_clear(patch);
	return -ENOMEM;
}

void clv_patch_clear(struct clv_patch *patch)
{
	json_decref(patch->object);
	json_decref(patch->operations);
	*patch = (struct clv_patch){0};
}

/* The pointer of RFC 6901, in which ~ and / of keys are ~0 and ~1.  The caller frees it.
 */
static char *pointer_to(const char *const *keys, size_t n_keys)
{
	size_t n = 1;
	char *text, *at;

	for (size_t i = 0; i < n_keys; i++)
		n += 1 + 2 * strlen(keys[i]);
	text = at = malloc(n);
	for (size_t i = 0; text && i < n_keys; i++) {
		*at++ = '/';
		for (const char *c = keys[i]; *c; c++) {
			*at++ = *c == '~' || *c == '/' ? '~' : *c;
			if (*c == '~' || *c == '/')
				*at++ = *c == '~' ? '0' : '1';
		}
	}
	if (text)
		*at = '\0';
	return text;
}

/* Takes value. */
static int add(struct clv_patch *patch, json_t *holder, const char *const *keys,
	size_t n_keys, json_t *value)
{
	char *path = pointer_to(keys, n_keys);
	json_t *operation = path ? json_pack("{s:s,s:s,s:O}", "op", "add", "path", path,
					   "value", value)
				 : NULL;
	int r;

	free(path);
	if (!operation) {
		json_decref(value);
		return -ENOMEM;
	}
	/* The copy may be changed below this value later, the operation not. */
	json_object_set_new(operation, "value", json_deep_copy(value));
	r = json_array_append_new(patch->operations, operation);
	if (json_object_set_new(holder, keys[n_keys - 1], value) < 0 || r < 0)
		return -ENOMEM;
	return 0;
}

static json_t *step(json_t *holder, const char *key)
{
	return json_is_array(holder) ? json_array_get(holder, strtoul(key, NULL, 10))
				     : json_object_get(holder, key);
}

int clv_patch_set(
	struct clv_patch *patch, const char *const *keys, size_t n_keys, json_t *value)
{
	json_t *at = patch->object;

	if (!value)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n_keys; i++) {
		json_t *next = step(at, keys[i]);

		if (json_is_object(at) && (!next || json_is_null(next))) {
			json_t *made = json_object();
			int r = made ? add(patch, at, keys, i + 1, made) : -ENOMEM;

			if (r < 0) {
				json_decref(value);
				return r;
			}
			next = step(at, keys[i]);
		}
		at = next;
	}
	if (!json_is_object(at)) {
		json_decref(value);
		return -EINVAL;
	}
	return add(patch, at, keys, n_keys, value);
}
