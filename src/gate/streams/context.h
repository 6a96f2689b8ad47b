/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The context that is current on this thread.  NULL: none is, or the driver does not
 * tell. */
void *clv_context(void);

/* Makes another context current, and the caller's own again afterwards.  begin returns
 * false if the driver refuses; then nothing has changed and end must not be called. */
struct clv_visit {
	void *own;
	bool is_elsewhere;
};
bool clv_visit_begin(struct clv_visit *visit, void *context);
void clv_visit_end(const struct clv_visit *visit);
