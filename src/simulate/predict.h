/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stddef.h>
#include <stdint.h>

/* How programs perform together on one device, from how each works alone: their turns are
 * played, by the arbiter's own policy.  The same input, the same result.
 *
 * A program computes in bursts of whole commands, and waits for each burst before it
 * pauses for something else.  A command that has begun runs to its end; how much of a
 * burst is under way when a turn ends is what the arbiter's window lets in; a hand-over
 * takes the time that it takes on a device without preemption.  What one does not use
 * goes to the others. */
struct clv_predict_program {
	/* Alone. */
	double busy;   /* of the time it had the device computing, above 0 up to 1 */
	double pauses; /* a second: it left the device and came back; 0: never */
	uint64_t command_ns; /* how long its commands are */
	/* Together. */
	uint32_t share_ppm;
	uint32_t cap_ppm; /* 0: none */
	enum clv_class class;
	/* Out. */
	double slowdown; /* against alone: 2 is half as fast */
	double held;     /* the part of the device's time that it would have */
};

#define CLV_PREDICT_MAX 64

/* 0, -EINVAL, -ENOMEM. */
int clv_predict(struct clv_predict_program *programs, size_t n);
