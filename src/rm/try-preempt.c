/* SPDX-License-Identifier: Apache-2.0 */
/* Tries on a GPU whether the driver lets another process stop a kernel half-way, as the
 * agent does it: a child computes and passes on its channel groups with their file; this
 * process takes them off and puts them back.  The interface is not a stable one, so that
 * is tried for each driver before it is relied on.  Where neither channels nor groups can
 * be taken off it is measured what time-slices do: two children compute without a pause,
 * and each in turn must have nearly all of the GPU.
 *
 * usage: cleave-try-preempt GPU-UUID
 * Prints "ok METHOD OFF_US ON_US" or "no REASON", one line, and ends with 0. */
#include "base/clock.h"
#include "base/socket.h"
#include "rm/channels.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KERNEL_NS (100 * CLV_NS_PER_MS)
#define HALF_WAY_MS 5u
#define STOPPED_MS 150u
#define AT_MOST_MS 3000u
#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* Of slices: what each child has to do, how much of it is looked at, and which part of
 * that must be of the one that is on.  Time-slices of 8 ms and 1 us make it 0.9999; what
 * is lost to the hardware's own least slice, and to switching, no document says. */
#define WORK_KERNELS 400u
#define WORK_NS CLV_NS_PER_MS
#define LOOKED_AT 60u
#define SETTLE_MS 20u
#define ENOUGH_PERCENT 90u

/* What the child says: objects, each with its file; then how it went; then answers. */
struct message {
	enum { OBJECT, LAUNCHED, FAILED, DONE, NOT_DONE } kind;
	int code; /* of FAILED: a CUresult; 0: there is no driver */
	char what[32];
	struct clv_rm_object object;
};

/* Busy until as many nanoseconds have gone by as it is told; and for about as many
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

/* The child's side. */

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

static void say(int kind, int code, const char *what)
{
	struct message message = {.kind = kind, .code = code};

	snprintf(message.what, sizeof(message.what), "%s", what);
	clv_socket_send(peer, &message, sizeof(message), NULL, 0);
}

/* In front of the C library's: what the driver's library asks its kernel part for. */
__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	struct message message = {.kind = OBJECT};
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

#define DO(call)                                     \
	do {                                         \
		int failure = (call);                \
                                                     \
		if (failure != 0) {                  \
			say(FAILED, failure, #call); \
			return;                      \
		}                                    \
	} while (0)

struct work {
	void *spin, *work, *stream;
	void *events[WORK_KERNELS];
	int n_done;
};

static void launch(struct work *work)
{
	uint64_t ns = KERNEL_NS;
	void *parameters[] = {&ns};

	DO(cuda.cuLaunchKernel(
		work->spin, 1, 1, 1, 1, 1, 1, 0, work->stream, parameters, NULL));
	say(LAUNCHED, 0, "");
}

static void launch_work(struct work *work)
{
	uint64_t ns = WORK_NS;
	void *parameters[] = {&ns};

	for (unsigned i = 0; i < WORK_KERNELS; i++) {
		DO(cuda.cuEventCreate(&work->events[i], 2));
		DO(cuda.cuLaunchKernel(
			work->work, 1, 1, 1, 1, 1, 1, 0, work->stream, parameters, NULL));
		DO(cuda.cuEventRecord(work->events[i], work->stream));
	}
	say(LAUNCHED, 0, "");
}

static void count_work(struct work *work)
{
	while (work->n_done < (int)WORK_KERNELS &&
		cuda.cuEventQuery(work->events[work->n_done]) == 0)
		work->n_done++;
	say(DONE, work->n_done, "");
}

static void query(struct work *work)
{
	int code = cuda.cuStreamQuery(work->stream);

	if (code == 0)
		say(DONE, 0, "");
	else
		say(code == NOT_READY ? NOT_DONE : FAILED, code, "cuStreamQuery");
}

/* 'l': launch; 'q': is it complete?  'w': have work; 'n': how much is done? */
static void serve(struct work *work)
{
	char question;

	while (read(peer, &question, 1) == 1) {
		if (question == 'l')
			launch(work);
		else if (question == 'w')
			launch_work(work);
		else if (question == 'n')
			count_work(work);
		else
			query(work);
	}
}

static void compute(void)
{
	static struct work work;
	void *context, *module;

	if (!load_driver()) {
		say(FAILED, 0, "libcuda.so.1");
		return;
	}
	DO(cuda.cuInit(0));
	DO(cuda.cuDevicePrimaryCtxRetain(&context, 0));
	DO(cuda.cuCtxSetCurrent(context));
	DO(cuda.cuStreamCreate(&work.stream, 1));
	DO(cuda.cuModuleLoadData(&module, image));
	DO(cuda.cuModuleGetFunction(&work.spin, module, "spin"));
	DO(cuda.cuModuleGetFunction(&work.work, module, "work"));
	say(LAUNCHED, 0, "");
	serve(&work);
}

/* The parent's side. */

struct test {
	int child;
	struct clv_rm_channels *channels;
	struct message last;
};

static void pause_ms(unsigned ms)
{
	struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL);
}

/* The next that is no object.  False: the child is gone. */
static bool hear(struct test *test)
{
	for (;;) {
		size_t n_fds = 1;
		int fd = -1;
		ssize_t got = clv_socket_receive(
			test->child, &test->last, sizeof(test->last), &fd, &n_fds);

		if (got != sizeof(test->last))
			return false;
		if (test->last.kind == OBJECT)
			clv_rm_channels_note(test->channels, fd, &test->last.object);
		if (n_fds > 0)
			close(fd);
		if (test->last.kind != OBJECT)
			return true;
	}
}

static bool ask(struct test *test, char question)
{
	return write(test->child, &question, 1) == 1 && hear(test);
}

static bool is_done(struct test *test)
{
	return ask(test, 'q') && test->last.kind == DONE;
}

static bool comes_to_an_end(struct test *test)
{
	for (unsigned ms = 0; ms < AT_MOST_MS; ms += 10) {
		if (is_done(test))
			return true;
		pause_ms(10);
	}
	return false;
}

/* NULL: it works. */
static const char *try(struct test *test, enum clv_rm_method method, uint64_t *ret_off_ns,
	uint64_t *ret_on_ns)
{
	static char reason[96];
	uint64_t began_ns;
	uint32_t off, on;
	bool is_stopped;

	if (!ask(test, 'l') || test->last.kind != LAUNCHED)
		return "no kernel runs";
	pause_ms(HALF_WAY_MS);
	began_ns = clv_clock_ns();
	off = clv_rm_channels_switch(test->channels, method, false);
	*ret_off_ns = clv_clock_ns() - began_ns;
	pause_ms(STOPPED_MS);
	is_stopped = !is_done(test);
	began_ns = clv_clock_ns();
	on = clv_rm_channels_switch(test->channels, method, true);
	*ret_on_ns = clv_clock_ns() - began_ns;
	if (!comes_to_an_end(test))
		return "a kernel that was stopped did not go on";
	snprintf(reason, sizeof(reason), "the driver refused with status 0x%x",
		off ? off : on);
	if (off || on)
		return reason;
	return is_stopped ? NULL : "the driver accepts it and the kernel ran on";
}

static const char *explain(const struct test *test)
{
	static char reason[96];

	if (test->last.kind != FAILED)
		return "the driver ended the process that tried it";
	if (test->last.code == 0)
		return "there is no libcuda.so.1";
	snprintf(reason, sizeof(reason), "CUDA error %d: %s", test->last.code,
		test->last.what);
	return reason;
}

static bool begin(struct test *test)
{
	int pair[2];

	test->channels = clv_rm_channels_new(true);
	test->child = -1;
	if (!test->channels ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		peer = pair[1];
		compute();
		_exit(0);
	}
	close(pair[1]);
	test->child = pair[0];
	return hear(test) && test->last.kind == LAUNCHED;
}

/* Time-slices. */

static bool count(struct test *test, int *ret)
{
	*ret = -1;
	if (ask(test, 'n') && test->last.kind == DONE)
		*ret = test->last.code;
	return *ret >= 0;
}

/* Which part of the work is of the first while both have some, in percent; -1: it cannot
 * be said. */
static int divide(struct test tests[2])
{
	int before[2], now[2], did[2] = {0};

	pause_ms(SETTLE_MS);
	if (!count(&tests[0], &before[0]) || !count(&tests[1], &before[1]))
		return -1;
	for (unsigned ms = 0; ms < AT_MOST_MS; ms += 2) {
		pause_ms(2);
		if (!count(&tests[0], &now[0]) || !count(&tests[1], &now[1]))
			return -1;
		did[0] = now[0] - before[0];
		did[1] = now[1] - before[1];
		if (did[0] + did[1] >= (int)LOOKED_AT)
			break;
	}
	if (now[0] == (int)WORK_KERNELS || now[1] == (int)WORK_KERNELS)
		return -1;
	return did[0] + did[1] > 0 ? 100 * did[0] / (did[0] + did[1]) : -1;
}

/* The first has the GPU and the second does not, and then the other way round. */
static const char *try_slices(
	struct test tests[2], uint64_t *ret_off_ns, uint64_t *ret_on_ns)
{
	static char reason[96];
	uint32_t off = 0, on = 0;
	uint64_t began_ns;

	if (!begin(&tests[1]) || !ask(&tests[0], 'w') || !ask(&tests[1], 'w'))
		return "there is no second process to measure time-slices with";
	for (int i = 0; i < 2; i++) {
		int part;

		began_ns = clv_clock_ns();
		on = clv_rm_channels_switch(tests[i].channels, CLV_RM_BY_SLICES, true);
		*ret_on_ns = clv_clock_ns() - began_ns;
		began_ns = clv_clock_ns();
		off = clv_rm_channels_switch(tests[!i].channels, CLV_RM_BY_SLICES, false);
		*ret_off_ns = clv_clock_ns() - began_ns;
		snprintf(reason, sizeof(reason), "the driver refused with status 0x%x",
			off ? off : on);
		if (off || on)
			return reason;
		part = divide(tests);
		part = i == 0 || part < 0 ? part : 100 - part;
		snprintf(reason, sizeof(reason),
			"time-slices do not divide the GPU: %d %% where it should be "
			"nearly all",
			part);
		if (part < (int)ENOUGH_PERCENT)
			return reason;
	}
	return NULL;
}

static const char *say_ok(enum clv_rm_method method, uint64_t off_ns, uint64_t on_ns)
{
	printf("ok %s %llu %llu\n", clv_rm_method_to_string(method),
		(unsigned long long)(off_ns / CLV_NS_PER_US),
		(unsigned long long)(on_ns / CLV_NS_PER_US));
	return NULL;
}

static const char *try_all(struct test tests[2])
{
	static const enum clv_rm_method methods[] = {
		CLV_RM_BY_CHANNELS, CLV_RM_BY_GROUPS};
	static char reason[200];
	const char *reasons[2] = {"", ""};
	uint64_t off_ns, on_ns;

	if (!begin(&tests[0]))
		return explain(&tests[0]);
	if (!clv_rm_channels_has_groups(tests[0].channels))
		return "no channel group was seen to be made";
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		reasons[0] = try(&tests[0], methods[i], &off_ns, &on_ns);
		if (!reasons[0])
			return say_ok(methods[i], off_ns, on_ns);
	}
	reasons[1] = try_slices(tests, &off_ns, &on_ns);
	if (!reasons[1])
		return say_ok(CLV_RM_BY_SLICES, off_ns, on_ns);
	snprintf(reason, sizeof(reason), "%s; %s", reasons[0], reasons[1]);
	return reason;
}

int main(int argc, char **argv)
{
	static struct test tests[2];
	const char *reason;

	if (argc != 2) {
		fprintf(stderr, "usage: cleave-try-preempt GPU-UUID\n");
		return 64;
	}
	signal(SIGPIPE, SIG_IGN);
	setenv("CUDA_VISIBLE_DEVICES", argv[1], 1);
	reason = try_all(tests);
	if (reason)
		printf("no %s\n", reason);
	return 0;
}
