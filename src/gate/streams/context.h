/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The context that is current on this thread.  NULL: none is, or the driver does not say
 * which. */
void *clv_context(void);

/* The gate in another context than its caller's, which is current again afterwards.
 * False: the driver does not let it, and nothing has changed; then there is no end. */
struct clv_visit {
	void *own;
	bool is_elsewhere;
};
bool clv_visit_begin(struct clv_visit *visit, void *context);
void clv_visit_end(const struct clv_visit *visit);
