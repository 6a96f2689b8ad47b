/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "cleave-double.h"
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The self-test of the double, through the real loader. Each case runs in its own
 * process, so that it may set environment variables, abort, or hang. */
struct selftest_case {
	const char *name;
	void (*run)(void);
	const char *env[4];    /* "NAME=VALUE" */
	const char *dies_with; /* must end by SIGABRT with this on stderr */
};

/* The tables of the parts, each ended by a row with no name. */
extern const struct selftest_case selftest_order[];
extern const struct selftest_case selftest_event[];
extern const struct selftest_case selftest_memory[];
extern const struct selftest_case selftest_object[];
extern const struct selftest_case selftest_process[];
extern const struct selftest_case selftest_thread[];
extern const struct selftest_case selftest_cost[];
extern const struct selftest_case selftest_helpers[]; /* run by other cases only */

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_Exit(1);                                                       \
		}                                                                       \
	} while (0)

#define CHECK_CL(expected, call)                                                 \
	do {                                                                     \
		cl_int got_ = (call);                                            \
		if (got_ != (expected)) {                                        \
			fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, \
				__LINE__, #call, got_, (cl_int)(expected));      \
			_Exit(1);                                                \
		}                                                                \
	} while (0)

#define OK(call) CHECK_CL(CL_SUCCESS, call)

/* The objects that almost every case needs. */
struct rig {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_kernel nop, spin;
	cl_event events[8]; /* these and the queues are released with the rig */
	cl_command_queue queues[2];
	unsigned n_events, n_queues;
};

void rig_init(struct rig *rig);
void rig_done(struct rig *rig);

cl_command_queue rig_queue(const struct rig *rig, cl_command_queue_properties props);

/* Enqueues one kernel of `us` microseconds; waits for `wait` if that is not NULL. */
cl_event rig_run(const struct rig *rig, cl_command_queue q, cl_uint us, cl_event wait);

/* The same, kept until the rig is done. */
cl_command_queue rig_keep_queue(struct rig *rig, cl_command_queue_properties props);
cl_event rig_keep_run(struct rig *rig, cl_command_queue q, cl_uint us, cl_event wait);
cl_event rig_keep(struct rig *rig, cl_event event);
cl_event rig_keep_user_event(struct rig *rig);

cl_int status_of(cl_event event);
void nap_ms(unsigned ms);
cl_ulong profiled(cl_event event, cl_profiling_info param);
void stats_now(const struct rig *rig, struct cleave_double_stats *ret);
void *by_name(const struct rig *rig, const char *name);

/* Long enough for every runnable command to have run. */
#define NAP_MS 30
