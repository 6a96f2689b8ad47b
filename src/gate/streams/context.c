/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and switches the current context. */
#include "gate/streams/context.h"

#include "gate/streams/driver.h"

#include <stddef.h>

void *clv_context(void)
{
	void *context = NULL;

	return clv_stream_driver->get_context(&context) == CLV_STREAM_SUCCESS ? context
									      : NULL;
}

/* If the current context is unknown it could not be restored. */
bool clv_visit_begin(struct clv_visit *visit, void *context)
{
	*visit = (struct clv_visit){0};
	if (clv_stream_driver->get_context(&visit->own) != CLV_STREAM_SUCCESS)
		return false;
	visit->is_elsewhere = visit->own != context;
	return !visit->is_elsewhere ||
	       clv_stream_driver->set_context(context) == CLV_STREAM_SUCCESS;
}

void clv_visit_end(const struct clv_visit *visit)
{
	if (visit->is_elsewhere)
		clv_stream_driver->set_context(visit->own);
}
