/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/arbiter.h"
#include "arbiter/internal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Several gates in one program, each with its own copy of the common part, as if each
 * were a process, so that a race detector sees both sides of the lease pages. The device
 * is a clock: it runs one command at a time, each for its declared time. */

#define N_INSTANCES 4
#define N_LEASES 3

struct instance {
	/* Attaches to the lease, in a slot that is already open. */
	void (*attach)(
		struct clv_arbiter_lease *lease, uint32_t lease_index, uint32_t slot);
	/* Submits one command of this length; returns when the device has it. */
	void (*submit)(uint64_t duration_ns);
	/* Waits until all commands are complete. */
	void (*finish)(void);
	bool (*charge)(uint64_t n_bytes);
	void (*release)(uint64_t n_bytes);
};

extern const struct instance instance_0, instance_1, instance_2, instance_3;

/* The device and the counters that check it. */
extern _Atomic uint32_t on_device[N_LEASES]; /* commands that the device has, per lease */
extern _Atomic uint64_t n_trespasses; /* submitted long before another lease's end */
extern _Atomic uint64_t device_busy_ns;

/* Adds a command to the device; returns the time of its completion, and in *ret_left_ns
 * how much of the earlier commands was left. */
uint64_t device_take(uint64_t duration_ns, uint64_t *ret_left_ns);
void device_sleep_until(uint64_t time_ns);
