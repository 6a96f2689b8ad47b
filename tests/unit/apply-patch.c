/* SPDX-License-Identifier: Apache-2.0 */
#include "apply-patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ~1 is a slash and ~0 a tilde. */
static void unescape(char *token)
{
	char *to = token;

	for (const char *from = token; *from; from++) {
		if (from[0] == '~' && (from[1] == '0' || from[1] == '1'))
			*to++ = *++from == '0' ? '~' : '/';
		else
			*to++ = *from;
	}
	*to = '\0';
}

static int add(json_t *at, char *path, json_t *value)
{
	char *slash;

	if (*path++ != '/')
		return -EINVAL;
	while ((slash = strchr(path, '/'))) {
		*slash = '\0';
		unescape(path);
		at = json_is_array(at) ? json_array_get(at, strtoul(path, NULL, 10))
				       : json_object_get(at, path);
		path = slash + 1;
	}
	unescape(path);
	return json_is_object(at) && json_object_set(at, path, value) == 0 ? 0 : -EINVAL;
}

int apply_patch(json_t *object, const json_t *operations)
{
	const json_t *operation;
	size_t i;
	int r = 0;

	json_array_foreach (operations, i, operation) {
		const char *op = json_string_value(json_object_get(operation, "op"));
		const char *path = json_string_value(json_object_get(operation, "path"));
		json_t *value = json_deep_copy(json_object_get(operation, "value"));
		char *copy = path ? strdup(path) : NULL;

		if (!op || strcmp(op, "add") != 0 || !copy || !value)
			r = -EINVAL;
		if (r == 0)
			r = add(object, copy, value);
		free(copy);
		json_decref(value);
	}
	return r;
}
