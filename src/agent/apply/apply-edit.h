/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to create or destroy one partition, as layouts. */
#pragma once

#include "agent/apply/apply.h"

/* Turns a request to create or destroy a partition into a layout: the device exactly as
 * it is, with the change. *ret is the caller's to clear; *ret_text is the same as text,
 * to be freed.  -ENODEV, -EINVAL. */
int clv_apply_edit(const struct clv_apply_request *request, const struct clv_node *node,
	struct clv_layout *ret, char **ret_text, struct clv_error *err);

/* Removes the layout's name and line from an error: the user did not write this layout,
 * and could not find the line. */
void clv_apply_strip_position(const struct clv_layout *layout, struct clv_error *err);
