/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Changes of an object as JSON Patch (RFC 6902), and the object as they leave it. */
struct clv_patch {
	json_t *object;     /* owned: a copy, which is changed along */
	json_t *operations; /* owned: what has changed it */
};

/* -ENOMEM. */
int clv_patch_init(struct clv_patch *patch, const json_t *object);
void clv_patch_clear(struct clv_patch *patch);

/* Sets the value at the place that keys lead to, and makes the objects on the way that
 * are missing.  An item of a list is named by its index, and must exist.  Takes value in
 * all cases.  -ENOMEM; -EINVAL: something on the way is neither object nor list. */
int clv_patch_set(
	struct clv_patch *patch, const char *const *keys, size_t n_keys, json_t *value);
