/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_attached;
struct clv_rm_object;

/* What holds shares of a device: the gate alone, which waits for work to complete when a
 * turn ends, or the hardware, which stops it half-way.  Which of the two is tried on each
 * NVIDIA GPU when the first process attaches there; until that is known, and where it
 * fails, it is the gate.  On a device that is the processor the threads that compute are
 * stopped, of processes that named them.  Loop thread only. */
struct clv_executor;

/* Tries it, if it has to be tried and was not yet.  The device has an arbiter. */
void clv_executor_begin(struct clv_agent *agent, struct clv_agent_device *device);
/* Ends it on all devices, before their arbiters end. */
void clv_executor_end_all(struct clv_agent *agent);

/* Once a second: a driver that refuses what it did when it was tried. */
void clv_executor_tick(struct clv_agent_device *device);

/* "gate", "hardware", "cpu", "none". */
const char *clv_executor_name(const struct clv_agent_device *device);
/* One line; NULL: there is nothing to be said. */
const char *clv_executor_reason(const struct clv_agent_device *device);

/* A process made or freed something through the file fd (borrowed; it may be anything);
 * as_of as in arbiter/attach.h. */
void clv_executor_note(struct clv_attached *process, int fd,
	const struct clv_rm_object *object, uint64_t as_of);

/* A process said in which threads it computes, as it numbers them itself. */
void clv_executor_note_threads(
	struct clv_attached *process, const int32_t *tids, uint32_t n);
