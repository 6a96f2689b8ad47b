/* SPDX-License-Identifier: Apache-2.0 */
/* A file may hold several configurations for several kinds of nodes, but a layout is for
 * one node.  The choice among them is never guessed. */
#include "import/internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 300

/* Lists as many names as fit. */
static void list_names(
	const struct clv_import_choice *choices, size_t n, char text[LIST_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		size_t needed = strlen(choices[i].name) + strlen(", , ...");

		if (used + needed >= LIST_BYTES) {
			snprintf(text + used, LIST_BYTES - used, ", ...");
			return;
		}
		used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s",
			i ? ", " : "", choices[i].name);
	}
}

static const char *nearest_name(
	const struct clv_import_choice *choices, size_t n, const char *name)
{
	_cleanup_free_ const char **names = calloc(n + 1, sizeof(*names));

	if (!names)
		return NULL;
	for (size_t i = 0; i < n; i++)
		names[i] = choices[i].name;
	return clv_suggest(name, names, n);
}

static int fail_to_find(const struct clv_import_choice *choices, size_t n,
	const char *name, const char *what, struct clv_yaml_value place,
	struct clv_error *err)
{
	const char *nearest = nearest_name(choices, n, name);
	char known[LIST_BYTES];

	if (nearest)
		return clv_yaml_fail(place, err, -EINVAL,
			"no %s is called '%.60s': did you mean '%.60s'?", what, name,
			nearest);
	list_names(choices, n, known);
	return clv_yaml_fail(place, err, -EINVAL, "no %s is called '%.60s': there are %s",
		what, name, known);
}

int clv_import_choose(const struct clv_import_choice *choices, size_t n, const char *name,
	const char *what, struct clv_yaml_value place, struct clv_yaml_value *ret,
	struct clv_error *err)
{
	char known[LIST_BYTES];

	if (n == 0)
		return clv_yaml_fail(place, err, -EINVAL, "there is no %s here", what);
	if (!name && n > 1) {
		list_names(choices, n, known);
		return clv_yaml_fail(place, err, -EINVAL,
			"this has %zu of which one is to be imported: choose the %s with "
			"--select: %s",
			n, what, known);
	}
	for (size_t i = 0; i < n; i++) {
		if (!name || strcmp(choices[i].name, name) == 0) {
			*ret = choices[i].value;
			return 0;
		}
	}
	return fail_to_find(choices, n, name, what, place, err);
}

int clv_import_choose_key(struct clv_yaml_value map, const char *name, const char *what,
	struct clv_yaml_value *ret, struct clv_error *err)
{
	size_t n = clv_yaml_count(map);
	_cleanup_free_ struct clv_import_choice *choices = NULL;

	if (clv_yaml_kind(map) != CLV_YAML_MAP)
		return clv_yaml_fail(map, err, -EINVAL,
			"names are expected here, each with its %s", what);
	choices = calloc(n + 1, sizeof(*choices));
	if (!choices)
		return clv_import_no_memory(map, err);
	for (size_t i = 0; i < n; i++)
		choices[i] = (struct clv_import_choice){
			clv_yaml_text(clv_yaml_key(map, i)), clv_yaml_at(map, i)};
	return clv_import_choose(choices, n, name, what, map, ret, err);
}
