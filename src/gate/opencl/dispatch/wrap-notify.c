/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls that concern the gate only because they take a callback.  Calls that
 * concern it otherwise too have their wrappers elsewhere, and also use notify.h: queued
 * frees of shared memory, native kernels, contexts. */
#include "gate/opencl/dispatch/notify.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/wrap.h"

#include <stddef.h>

/* A type of callbacks: its name, (parameters), (arguments). */
#define NOTIFY(name, parameters, arguments)               \
	typedef void(CL_CALLBACK * name) parameters;      \
	static void CL_CALLBACK run_##name parameters     \
	{                                                 \
		struct clv_notify notify;                 \
                                                          \
		if (!clv_notify_begin(userdata, &notify)) \
			return;                           \
		userdata = notify.userdata;               \
		((name)notify.function) arguments;        \
		clv_notify_end();                         \
	}

/* A call with a callback: its name, the callback's type, (parameters), (arguments). */
#define NOTIFIED(call, name, parameters, arguments)                                  \
	static cl_int CL_API_CALL wrap_##call parameters                             \
	{                                                                            \
		void *ticket = NULL;                                                 \
		cl_int r;                                                            \
                                                                                     \
		if (function) {                                                      \
			ticket = clv_notify_new((void (*)(void))function, userdata); \
			if (!ticket)                                                 \
				return CL_OUT_OF_HOST_MEMORY;                        \
			function = run_##name;                                       \
			userdata = ticket;                                           \
		}                                                                    \
		r = clv_real.call arguments;                                         \
		if (ticket && r != CL_SUCCESS)                                       \
			clv_notify_cancel(ticket);                                   \
		return r;                                                            \
	}

/* clang-format off */
NOTIFY(of_event, (cl_event event, cl_int status, void *userdata), (event, status, userdata))
NOTIFY(of_object, (cl_mem object, void *userdata), (object, userdata))
NOTIFY(of_context, (cl_context context, void *userdata), (context, userdata))
NOTIFY(of_program, (cl_program program, void *userdata), (program, userdata))

NOTIFIED(clSetEventCallback, of_event,
	(cl_event event, cl_int type, of_event function, void *userdata),
	(event, type, function, userdata))
NOTIFIED(clSetMemObjectDestructorCallback, of_object,
	(cl_mem object, of_object function, void *userdata),
	(object, function, userdata))
NOTIFIED(clSetContextDestructorCallback, of_context,
	(cl_context context, of_context function, void *userdata),
	(context, function, userdata))
NOTIFIED(clSetProgramReleaseCallback, of_program,
	(cl_program program, of_program function, void *userdata),
	(program, function, userdata))
NOTIFIED(clBuildProgram, of_program,
	(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
		of_program function, void *userdata),
	(program, n, devices, options, function, userdata))
NOTIFIED(clCompileProgram, of_program,
	(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
		cl_uint n_headers, const cl_program *headers, const char **names,
		of_program function, void *userdata),
	(program, n, devices, options, n_headers, headers, names, function, userdata))
/* clang-format on */

/* This one returns an object, and its error by an argument. */
static cl_program CL_API_CALL wrap_clLinkProgram(cl_context context, cl_uint n,
	const cl_device_id *devices, const char *options, cl_uint n_programs,
	const cl_program *programs, of_program function, void *userdata,
	cl_int *ret_error)
{
	void *ticket = NULL;
	cl_program program;

	if (function) {
		ticket = clv_notify_new((void (*)(void))function, userdata);
		if (!ticket) {
			if (ret_error)
				*ret_error = CL_OUT_OF_HOST_MEMORY;
			return NULL;
		}
		function = run_of_program;
		userdata = ticket;
	}
	program = clv_real.clLinkProgram(context, n, devices, options, n_programs,
		programs, function, userdata, ret_error);
	if (ticket && !program)
		clv_notify_cancel(ticket);
	return program;
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_notifications(cl_icd_dispatch *table)
{
	WRAP(clSetEventCallback);
	WRAP(clSetMemObjectDestructorCallback);
	WRAP(clSetContextDestructorCallback);
	WRAP(clSetProgramReleaseCallback);
	WRAP(clBuildProgram);
	WRAP(clCompileProgram);
	WRAP(clLinkProgram);
}
