/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

int dcu_capture_forbids(struct stream *stream)
{
	return stream->capture ? DCU_CAPTURE_UNSUPPORTED : 0;
}

int dcu_capture_transfer(struct stream *stream, struct transfer *t, bool is_async)
{
	return DCU_CAPTURE_UNSUPPORTED;
}

int dcu_capture_launch(struct stream *stream, const struct launch *launch)
{
	return DCU_CAPTURE_UNSUPPORTED;
}

int dcu_capture_host(struct stream *stream, const struct host_task *task)
{
	return DCU_CAPTURE_UNSUPPORTED;
}
