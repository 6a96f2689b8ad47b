/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_agent;
struct clv_agent_device;
struct clv_attached;
struct clv_rm_object;

/* The executor of a device: what ends a turn.  It is the gate, which waits for work to
 * complete, or the hardware, which preempts it.  On an NVIDIA GPU preemption is tried
 * when the first process attaches; until the result is known, and where it fails, the
 * executor is the gate.  On a device that is the processor the compute threads of a
 * process are stopped by signals, once the process has named them.  Loop thread only. */
struct clv_executor;

/* Creates the device's executor, if it has none, and starts the test of preemption where
 * one is needed.  The device has an arbiter. */
void clv_executor_begin(struct clv_agent *agent, struct clv_agent_device *device);
/* Frees the executors of all devices.  Call before their arbiters are freed. */
void clv_executor_end_all(struct clv_agent *agent);

/* Call once a second: repeats a failed test when it is due, reports leases whose work is
 * not preempted, and falls back to the gate if the driver refuses to preempt. */
void clv_executor_tick(struct clv_agent_device *device);

/* "gate", "hardware", "cpu", "none". */
const char *clv_executor_name(const struct clv_agent_device *device);
/* Why this executor is used, in one line; NULL: no reason is known.  Valid until the next
 * call. */
const char *clv_executor_reason(const struct clv_agent_device *device);

/* The process created or freed an object of the driver through the file fd (borrowed;
 * sent by the tenant, so of any kind); as_of as in arbiter/attach.h. */
void clv_executor_record_object(struct clv_attached *process, int fd,
	const struct clv_rm_object *object, uint64_t as_of);

/* The process named its compute threads, by the tids of its own PID namespace. */
void clv_executor_record_threads(
	struct clv_attached *process, const int32_t *tids, uint32_t n);
