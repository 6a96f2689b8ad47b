/* SPDX-License-Identifier: Apache-2.0 */
/* The child of cleave-try-preempt: launches kernels, and sends its parent each object
 * that the driver's library creates. */
#include "rm/try-child.h"

#include "base/clock.h"
#include "base/socket.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KERNEL_NS (100 * CLV_NS_PER_MS)
#define WORK_NS CLV_NS_PER_MS
#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* spin: busy until that many nanoseconds have passed.  work: busy for about that many
 * nanoseconds of the GPU's own time, however long that takes. */
static const char image[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			    ".visible .entry spin(.param .u64 ns)\n{\n"
			    ".reg .u64 %n, %t0, %t1;\n.reg .pred %p;\n"
			    "ld.param.u64 %n, [ns];\nmov.u64 %t0, %globaltimer;\n"
			    "again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
			    "setp.lt.u64 %p, %t1, %n;\n@%p bra again;\nret;\n}\n"
			    ".visible .entry work(.param .u64 ns)\n{\n"
			    ".reg .u64 %n;\n.reg .pred %p;\n"
			    "ld.param.u64 %n, [ns];\nshr.u64 %n, %n, 4;\n"
			    "again:\nbar.sync 0;\nsub.u64 %n, %n, 1;\n"
			    "setp.ne.u64 %p, %n, 0;\n@%p bra again;\nret;\n}\n";

static struct {
	int (*cuInit)(unsigned flags);
	int (*cuDevicePrimaryCtxRetain)(void **context, int device);
	int (*cuCtxSetCurrent)(void *context);
	int (*cuModuleLoadData)(void **module, const void *image);
	int (*cuModuleGetFunction)(void **function, void *module, const char *name);
	int (*cuStreamCreate)(void **stream, unsigned flags);
	int (*cuStreamQuery)(void *stream);
	int (*cuEventCreate)(void **event, unsigned flags);
	int (*cuEventRecord)(void *event, void *stream);
	int (*cuEventQuery)(void *event);
	int (*cuLaunchKernel)(void *function, unsigned gx, unsigned gy, unsigned gz,
		unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		void **parameters, void **extra);
} cuda;

static const struct {
	const char *name;
	void *into;
} functions[] = {
	{"cuInit", &cuda.cuInit},
	{"cuDevicePrimaryCtxRetain", &cuda.cuDevicePrimaryCtxRetain},
	{"cuCtxSetCurrent", &cuda.cuCtxSetCurrent},
	{"cuModuleLoadData", &cuda.cuModuleLoadData},
	{"cuModuleGetFunction", &cuda.cuModuleGetFunction},
	{"cuStreamCreate", &cuda.cuStreamCreate},
	{"cuStreamQuery", &cuda.cuStreamQuery},
	{"cuEventCreate", &cuda.cuEventCreate},
	{"cuEventRecord", &cuda.cuEventRecord},
	{"cuEventQuery", &cuda.cuEventQuery},
	{"cuLaunchKernel", &cuda.cuLaunchKernel},
};

static int peer = -1; /* the parent, in the child */

static void send_message(int kind, int code, const char *what)
{
	struct clv_try_message message = {.kind = kind, .code = code};

	snprintf(message.what, sizeof(message.what), "%s", what);
	clv_socket_send(peer, &message, sizeof(message), NULL, 0);
}

/* Interposes the C library's ioctl, to see the objects that the driver's library
 * creates. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	struct clv_try_message message = {.kind = CLV_TRY_OBJECT};
	va_list rest;
	void *argument;
	int r;

	va_start(rest, request);
	argument = va_arg(rest, void *);
	va_end(rest);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	r = next(fd, request, argument);
	if (r == 0 && peer >= 0 && clv_rm_object_read(request, argument, &message.object))
		clv_socket_send(peer, &message, sizeof(message), &fd,
			message.object.class ? 1 : 0);
	return r;
}

static bool load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = library ? dlsym(library, functions[i].name) : NULL;

		if (!function)
			return false;
		memcpy(functions[i].into, &function, sizeof(function));
	}
	return true;
}

#define DO(call)                                                      \
	do {                                                          \
		int failure = (call);                                 \
                                                                      \
		if (failure != 0) {                                   \
			send_message(CLV_TRY_FAILED, failure, #call); \
			return;                                       \
		}                                                     \
	} while (0)

struct work {
	void *spin, *work, *stream;
	void *events[CLV_TRY_WORK_KERNELS];
	int n_done;
};

static void launch(struct work *work)
{
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns};

	DO(cuda.cuLaunchKernel(
		work->spin, 1, 1, 1, 1, 1, 1, 0, work->stream, parameters, NULL));
	send_message(CLV_TRY_LAUNCHED, 0, "");
}

static void launch_work(struct work *work)
{
	uint64_t ns = WORK_NS;
	void *parameters[] = {&ns};

	for (unsigned i = 0; i < CLV_TRY_WORK_KERNELS; i++) {
		DO(cuda.cuEventCreate(&work->events[i], 2));
		DO(cuda.cuLaunchKernel(
			work->work, 1, 1, 1, 1, 1, 1, 0, work->stream, parameters, NULL));
		DO(cuda.cuEventRecord(work->events[i], work->stream));
	}
	send_message(CLV_TRY_LAUNCHED, 0, "");
}

static void count_work(struct work *work)
{
	while (work->n_done < (int)CLV_TRY_WORK_KERNELS &&
		cuda.cuEventQuery(work->events[work->n_done]) == 0)
		work->n_done++;
	send_message(CLV_TRY_DONE, work->n_done, "");
}

static void query(struct work *work)
{
	int code = cuda.cuStreamQuery(work->stream);

	if (code == 0)
		send_message(CLV_TRY_DONE, 0, "");
	else
		send_message(code == NOT_READY ? CLV_TRY_NOT_DONE : CLV_TRY_FAILED, code,
			"cuStreamQuery");
}

static void serve(struct work *work)
{
	char question;

	while (read(peer, &question, 1) == 1) {
		switch (question) {
		case CLV_TRY_LAUNCH:
			launch(work);
			break;
		case CLV_TRY_WORK:
			launch_work(work);
			break;
		case CLV_TRY_WORK_DONE:
			count_work(work);
			break;
		default:
			query(work);
		}
	}
}

static void compute(void)
{
	static struct work work;
	void *context, *module;

	if (!load_driver()) {
		send_message(CLV_TRY_FAILED, 0, "libcuda.so.1");
		return;
	}
	DO(cuda.cuInit(0));
	DO(cuda.cuDevicePrimaryCtxRetain(&context, 0));
	DO(cuda.cuCtxSetCurrent(context));
	DO(cuda.cuStreamCreate(&work.stream, 1));
	DO(cuda.cuModuleLoadData(&module, image));
	DO(cuda.cuModuleGetFunction(&work.spin, module, "spin"));
	DO(cuda.cuModuleGetFunction(&work.work, module, "work"));
	send_message(CLV_TRY_LAUNCHED, 0, "");
	serve(&work);
}

void clv_try_compute(int socket)
{
	peer = socket;
	compute();
}
