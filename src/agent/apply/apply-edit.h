/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/apply/apply.h"

/* A request for one partition more or less as a layout: its device as it is, exactly, and
 * the change.  *ret_text is the same as text, to be freed.  -ENODEV, -EINVAL. */
int clv_apply_edit(const struct clv_apply_request *request, const struct clv_node *node,
	struct clv_layout *ret, char **ret_text, struct clv_error *err);

/* One partition more or less became a layout that nobody has written: its name and line
 * tell nobody anything, and are taken off an error. */
void clv_apply_drop_place(const struct clv_layout *layout, struct clv_error *err);
