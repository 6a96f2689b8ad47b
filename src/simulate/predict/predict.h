/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stddef.h>
#include <stdint.h>

/* Predicts how programs perform together on one device, from how each performs alone, by
 * a simulation of their turns with the policy of the arbiter.  Deterministic.
 *
 * A program computes in bursts of whole commands, and waits for each burst before it
 * pauses.  A command that has begun runs to its end; the window of the arbiter bounds how
 * much of a burst is in flight when a turn ends; a hand-over takes the time that it takes
 * on a device without preemption.  Time that one program does not use goes to the
 * others. */
struct clv_predict_program {
	/* In: alone. */
	double busy;   /* part of the time that the device computed, above 0 up to 1 */
	double pauses; /* times per second that it left the device and came back */
	uint64_t command_ns; /* duration of its commands */
	/* In: together. */
	uint32_t share_ppm;
	uint32_t cap_ppm; /* 0: none */
	enum clv_class class;
	/* Out. */
	double slowdown; /* compared with alone: 2 is half as fast */
	double held;     /* part of the time of the device that it gets */
};

#define CLV_PREDICT_MAX 64

/* 0, -EINVAL, -ENOMEM. */
int clv_predict(struct clv_predict_program *programs, size_t n);
