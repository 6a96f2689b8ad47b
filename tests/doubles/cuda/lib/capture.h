/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* 0, or what a call gets that must not be made while the stream is captured: the capture
 * is of no use any more. */
int dcu_capture_forbids(struct stream *stream);

struct transfer;
struct launch;

/* Make a node of what was about to go into a captured stream. */
int dcu_capture_transfer(struct stream *stream, struct transfer *t, bool is_async);
int dcu_capture_launch(struct stream *stream, const struct launch *launch);
struct host_task;
int dcu_capture_host(struct stream *stream, const struct host_task *task);
