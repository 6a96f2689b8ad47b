/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what NVIDIA's kernel driver lets a process do with its own channel groups, and
 * whether that changes how the GPU divides its time: time slices, removal from the
 * runlist, preemption. The program defines ioctl, and so sees the handles of
 * libcuda.so.1. It changes nothing that outlives the process.
 *
 * usage: gpu-channel-groups            prints "what: finding", a line each
 *        gpu-channel-groups --beside US  (its own second process: a time slice, then
 * counts)
 *
 * Numbers of classes and controls: open-gpu-kernel-modules 535.43.02 to 595.45.04. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RM_ALLOC 0x2b
#define RM_CONTROL 0x2a
#define CLASS_GROUP 0xa06cu
#define CLASS_SUBDEVICE 0x2080u
#define CLASS_CHANNEL 0x6fu /* the low byte of all of them */
#define SCHEDULE 0xa06c0101u
#define SET_TIMESLICE 0xa06c0103u
#define GET_TIMESLICE 0xa06c0104u
#define PREEMPT 0xa06c0105u
#define GET_INFO 0xa06c0106u
#define DISABLE_CHANNELS 0x2080110bu
#define INVALID_PARAMETERS 0x3au

#define MAX_OBJECTS 256
#define SECONDS_AT_MOST 20
#define ROUNDS 100

/* NVOS21_PARAMETERS and NVOS64_PARAMETERS begin alike. */
struct rm_alloc {
	uint32_t client, parent, object, class;
};

/* NVOS54_PARAMETERS */
struct rm_control {
	uint32_t client, object, command, flags;
	uint64_t parameters;
	uint32_t n_bytes, status;
};

struct object {
	int fd;
	uint32_t client, parent, handle, class;
};

static struct object objects[MAX_OBJECTS];
static size_t n_objects;
static int (*next_ioctl)(int, unsigned long, ...);

int ioctl(int fd, unsigned long request, ...) __attribute__((visibility("default")));
int ioctl(int fd, unsigned long request, ...)
{
	struct rm_alloc made;
	va_list rest;
	void *argument;
	int r;

	if (!next_ioctl)
		*(void **)&next_ioctl = dlsym(RTLD_NEXT, "ioctl");
	va_start(rest, request);
	argument = va_arg(rest, void *);
	va_end(rest);
	r = next_ioctl(fd, request, argument);
	if (_IOC_TYPE(request) != 'F' || _IOC_NR(request) != RM_ALLOC || r != 0 ||
		n_objects == MAX_OBJECTS)
		return r;
	memcpy(&made, argument, sizeof(made));
	objects[n_objects++] =
		(struct object){fd, made.client, made.parent, made.object, made.class};
	return r;
}

/* The driver API. */

typedef uint64_t address;
static struct {
	int (*cuInit)(unsigned flags);
	int (*cuDeviceGetName)(char *name, int n, int device);
	int (*cuDriverGetVersion)(int *version);
	int (*cuDevicePrimaryCtxRetain)(void **context, int device);
	int (*cuCtxSetCurrent)(void *context);
	int (*cuModuleLoadData)(void **module, const void *image);
	int (*cuModuleGetFunction)(void **function, void *module, const char *name);
	int (*cuStreamCreate)(void **stream, unsigned flags);
	int (*cuStreamSynchronize)(void *stream);
	int (*cuMemHostAlloc)(void **host, size_t n, unsigned flags);
	int (*cuMemHostGetDevicePointer_v2)(address *device, void *host, unsigned flags);
	int (*cuLaunchKernel)(void *function, unsigned gx, unsigned gy, unsigned gz,
		unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		void **parameters, void **extra);
} cuda;

static const struct {
	const char *name;
	void *into;
} functions[] = {
#define FUNCTION(name)            \
	{                         \
#name, &cuda.name \
	}
	FUNCTION(cuInit),
	FUNCTION(cuDeviceGetName),
	FUNCTION(cuDriverGetVersion),
	FUNCTION(cuDevicePrimaryCtxRetain),
	FUNCTION(cuCtxSetCurrent),
	FUNCTION(cuModuleLoadData),
	FUNCTION(cuModuleGetFunction),
	FUNCTION(cuStreamCreate),
	FUNCTION(cuStreamSynchronize),
	FUNCTION(cuMemHostAlloc),
	FUNCTION(cuMemHostGetDevicePointer_v2),
	FUNCTION(cuLaunchKernel),
};

/* Counts in host memory until it is stopped, or for twenty seconds. */
static const char image[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry count(.param .u64 shared)\n{\n"
	".reg .u64 %a, %n, %t0, %t1;\n.reg .u32 %s;\n.reg .pred %p;\n"
	"ld.param.u64 %a, [shared];\nmov.u64 %n, 0;\nmov.u64 %t0, %globaltimer;\n"
	"again:\nadd.u64 %n, %n, 1;\nst.volatile.global.u64 [%a], %n;\n"
	"ld.volatile.global.u32 %s, [%a+8];\nsetp.ne.u32 %p, %s, 0;\n@%p bra done;\n"
	"mov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
	"setp.lt.u64 %p, %t1, 20000000000;\n@%p bra again;\ndone:\nret;\n}\n";

struct shared {
	volatile uint64_t count;
	volatile uint32_t stop;
};

static struct {
	void *function, *stream;
	struct shared *shared;
	address shared_on_device;
} kernel;

static void say(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(const char *what, const char *format, ...)
{
	va_list rest;

	printf("%s: ", what);
	va_start(rest, format);
	vprintf(format, rest);
	va_end(rest);
	printf("\n");
	fflush(stdout);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(unsigned ms)
{
	struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&pause, NULL);
}

static int load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		return -1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return -1;
		memcpy(functions[i].into, &function, sizeof(function));
	}
	return 0;
}

static int make_kernel(void)
{
	void *module, *host;
	int r = cuda.cuModuleLoadData(&module, image);

	if (r == 0)
		r = cuda.cuModuleGetFunction(&kernel.function, module, "count");
	if (r == 0)
		r = cuda.cuMemHostAlloc(&host, sizeof(struct shared), 2);
	if (r == 0) {
		kernel.shared = host;
		memset(host, 0, sizeof(struct shared));
		r = cuda.cuMemHostGetDevicePointer_v2(&kernel.shared_on_device, host, 0);
	}
	return r;
}

static int begin(void)
{
	void *context;
	int r = cuda.cuInit(0);

	if (r == 0)
		r = cuda.cuDevicePrimaryCtxRetain(&context, 0);
	if (r == 0)
		r = cuda.cuCtxSetCurrent(context);
	if (r == 0)
		r = cuda.cuStreamCreate(&kernel.stream, 1);
	return r;
}

/* RM controls of the process itself. */

static uint32_t control(
	const struct object *object, uint32_t command, void *parameters, uint32_t n_bytes)
{
	struct rm_control call = {
		.client = object->client,
		.object = object->handle,
		.command = command,
		.parameters = (uint64_t)(uintptr_t)parameters,
		.n_bytes = n_bytes,
	};

	if (next_ioctl(object->fd, _IOWR('F', RM_CONTROL, struct rm_control), &call) != 0)
		return 0x10000u + (uint32_t)errno;
	return call.status;
}

static uint32_t set_slice(const struct object *group, uint64_t us)
{
	return control(group, SET_TIMESLICE, &us, sizeof(us));
}

static uint32_t schedule(const struct object *group, bool is_on)
{
	uint8_t parameters[3] = {is_on, 0, 0};
	uint32_t status = control(group, SCHEDULE, parameters, 3);

	/* Before 575 the structure has two bytes. */
	return status == INVALID_PARAMETERS ? control(group, SCHEDULE, parameters, 2)
					    : status;
}

static uint32_t preempt(const struct object *group)
{
	struct {
		uint8_t wait, manual;
		uint8_t padding[2];
		uint32_t timeout_us;
	} parameters = {1, 0, {0}, 0};

	return control(group, PREEMPT, &parameters, sizeof(parameters));
}

static uint32_t disable_channels(bool is_off)
{
	struct {
		uint8_t disable;
		uint8_t padding[3];
		uint32_t n;
		uint8_t only_scheduling, rewind, more_padding[6];
		uint64_t event;
		uint32_t clients[64], channels[64];
	} parameters = {.disable = is_off, .only_scheduling = 0};
	const struct object *subdevice = NULL;

	for (size_t i = 0; i < n_objects && parameters.n < 64; i++) {
		if (objects[i].class == CLASS_SUBDEVICE && !subdevice)
			subdevice = &objects[i];
		if ((objects[i].class & 0xff) != CLASS_CHANNEL)
			continue;
		parameters.clients[parameters.n] = objects[i].client;
		parameters.channels[parameters.n++] = objects[i].handle;
	}
	return subdevice ? control(subdevice, DISABLE_CHANNELS, &parameters,
				   sizeof(parameters))
			 : 0x20000u;
}

static size_t find_groups(const struct object *ret[MAX_OBJECTS])
{
	size_t n = 0;

	for (size_t i = 0; i < n_objects; i++) {
		if (objects[i].class == CLASS_GROUP)
			ret[n++] = &objects[i];
	}
	return n;
}

/* Applies to all groups, because the driver does not say which of them computes. */
static uint32_t for_all(uint32_t (*act)(const struct object *group))
{
	const struct object *groups[MAX_OBJECTS];
	size_t n = find_groups(groups);
	uint32_t worst = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t status = act(groups[i]);

		if (status)
			worst = status;
	}
	return worst;
}

static uint32_t schedule_on(const struct object *group)
{
	return schedule(group, true);
}

static uint32_t schedule_off(const struct object *group)
{
	return schedule(group, false);
}

/* --- Effects --- */

static void start_counting(void)
{
	void *parameters[] = {&kernel.shared_on_device};

	kernel.shared->stop = 0;
	kernel.shared->count = 0;
	cuda.cuLaunchKernel(
		kernel.function, 1, 1, 1, 1, 1, 1, 0, kernel.stream, parameters, NULL);
	for (int i = 0; i < 1000 && kernel.shared->count == 0; i++)
		pause_ms(1);
}

static void stop_counting(void)
{
	kernel.shared->stop = 1;
	cuda.cuStreamSynchronize(kernel.stream);
}

static uint64_t counts_in(unsigned ms)
{
	uint64_t before = kernel.shared->count;

	pause_ms(ms);
	return kernel.shared->count - before;
}

/* Returns how many nanoseconds the count goes on after the call began; 0: it did not
 * stop. */
static uint64_t time_to_stop(uint64_t since_ns)
{
	uint64_t last_ns = since_ns, last = kernel.shared->count;

	for (;;) {
		uint64_t ns = now_ns(), count = kernel.shared->count;

		if (count != last) {
			last = count;
			last_ns = ns;
		}
		if (ns - last_ns > 50000000u)
			return last_ns - since_ns ? last_ns - since_ns : 1;
		if (ns - since_ns > 500000000u)
			return 0;
	}
}

static void try_stopping(
	const char *what, uint32_t (*stop)(void), uint32_t (*go_on)(void))
{
	uint64_t began_ns, took_ns, call_ns, stopped, after;
	uint32_t off, on;

	start_counting();
	began_ns = now_ns();
	off = stop();
	call_ns = now_ns() - began_ns;
	took_ns = time_to_stop(began_ns);
	stopped = counts_in(100);
	on = go_on();
	pause_ms(10);
	after = counts_in(100);
	stop_counting();
	say(what,
		"off status 0x%x in %llu us, the kernel %s (%llu us), on status 0x%x, "
		"then %s",
		off, (unsigned long long)(call_ns / 1000), stopped ? "ran on" : "stopped",
		(unsigned long long)(took_ns / 1000), on,
		after ? "it continued" : "it did not continue");
}

static uint32_t take_off(void)
{
	uint32_t status = for_all(schedule_off);

	return status ? status : for_all(preempt);
}

static uint32_t put_on(void)
{
	return for_all(schedule_on);
}

static uint32_t channels_off(void)
{
	return disable_channels(true);
}

static uint32_t channels_on(void)
{
	return disable_channels(false);
}

static void look_at_groups(void)
{
	const struct object *groups[MAX_OBJECTS];
	size_t n = find_groups(groups), n_channels = 0;

	for (size_t i = 0; i < n_objects; i++)
		n_channels += (objects[i].class & 0xff) == CLASS_CHANNEL;
	say("handles seen", "%zu objects, %zu channel groups, %zu channels", n_objects, n,
		n_channels);
	for (size_t i = 0; i < n; i++) {
		uint64_t before = 0, after = 0;
		uint32_t id = 0, get, set, again, info;

		info = control(groups[i], GET_INFO, &id, sizeof(id));
		get = control(groups[i], GET_TIMESLICE, &before, sizeof(before));
		set = set_slice(groups[i], 2000);
		again = control(groups[i], GET_TIMESLICE, &after, sizeof(after));
		say("group",
			"id %u (0x%x), slice %llu us (0x%x), set 2000 (0x%x), then %llu "
			"(0x%x)",
			id, info, (unsigned long long)before, get, set,
			(unsigned long long)after, again);
		set_slice(groups[i], before);
	}
}

static void time_preemption(const char *what)
{
	uint64_t least = UINT64_MAX, most = 0, sum = 0;
	uint32_t status = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t began_ns = now_ns(), took_ns;

		status |= for_all(preempt);
		took_ns = now_ns() - began_ns;
		least = took_ns < least ? took_ns : least;
		most = took_ns > most ? took_ns : most;
		sum += took_ns;
	}
	say(what, "status 0x%x, %llu us at least, %llu mean, %llu at most", status,
		(unsigned long long)(least / 1000),
		(unsigned long long)(sum / ROUNDS / 1000),
		(unsigned long long)(most / 1000));
}

/* Two processes that both compute without an end, with slices of their own. */

static void set_slices(uint64_t us)
{
	const struct object *groups[MAX_OBJECTS];
	size_t n = find_groups(groups);

	for (size_t i = 0; us && i < n; i++)
		set_slice(groups[i], us);
}

static int be_beside(uint64_t us)
{
	char byte;

	set_slices(us);
	start_counting();
	(void)!write(1, "r", 1);
	(void)!read(0, &byte, 1);
	for (;;) {
		uint64_t count;

		if (read(0, &byte, 1) != 1)
			break;
		count = kernel.shared->count;
		(void)!write(1, &count, sizeof(count));
	}
	stop_counting();
	return 0;
}

static uint64_t ask(const int pipes[2])
{
	uint64_t count = 0;

	(void)!write(pipes[1], "c", 1);
	(void)!read(pipes[0], &count, sizeof(count));
	return count;
}

static pid_t start_beside(const char *self, uint64_t us, int pipes[2])
{
	int to[2], from[2];
	char number[24];
	pid_t pid;

	if (pipe(to) < 0 || pipe(from) < 0)
		return -1;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)us);
	pid = fork();
	if (pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execl(self, self, "--beside", number, (char *)NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	pipes[0] = from[0];
	pipes[1] = to[1];
	return pid;
}

static void weigh(const char *self, uint64_t ours_us, uint64_t theirs_us)
{
	uint64_t ours, theirs;
	char what[64], byte;
	int pipes[2];
	pid_t pid = start_beside(self, theirs_us, pipes);

	if (pid < 0 || read(pipes[0], &byte, 1) != 1)
		return;
	set_slices(ours_us);
	start_counting();
	(void)!write(pipes[1], "g", 1);
	pause_ms(200);
	theirs = ask(pipes);
	ours = kernel.shared->count;
	pause_ms(2000);
	ours = kernel.shared->count - ours;
	theirs = ask(pipes) - theirs;
	stop_counting();
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	snprintf(what, sizeof(what), "slices %llu:%llu us", (unsigned long long)ours_us,
		(unsigned long long)theirs_us);
	say(what, "%.4f of the work is the first's, by slices it would be %.4f",
		ours + theirs ? (double)ours / (double)(ours + theirs) : 0,
		(double)ours_us / (double)(ours_us + theirs_us));
}

static void introduce(void)
{
	struct utsname system;
	char name[128] = "";
	int version = 0;

	uname(&system);
	cuda.cuDriverGetVersion(&version);
	cuda.cuDeviceGetName(name, sizeof(name), 0);
	say("machine", "%s %s; %s; CUDA %d", system.sysname, system.release, name,
		version);
}

int main(int argc, char **argv)
{
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(SECONDS_AT_MOST * 6);
	if (load_driver() < 0) {
		say("driver", "there is no libcuda.so.1 here");
		return 77;
	}
	r = begin();
	if (r != 0) {
		say("context", "CUDA error %d", r);
		return 1;
	}
	r = make_kernel();
	if (argc == 3 && strcmp(argv[1], "--beside") == 0)
		return r == 0 ? be_beside(strtoull(argv[2], NULL, 10)) : 1;
	introduce();
	look_at_groups();
	time_preemption("preempt, idle");
	if (r != 0) {
		say("kernel", "CUDA error %d: effects are not looked at", r);
		return 0;
	}
	start_counting();
	time_preemption("preempt, beside a kernel");
	stop_counting();
	try_stopping("groups off the runlist", take_off, put_on);
	try_stopping("channels disabled", channels_off, channels_on);
	weigh(argv[0], 1000, 1000);
	weigh(argv[0], 4000, 1000);
	weigh(argv[0], 1000, 9000);
	weigh(argv[0], 250, 1000);
	return 0;
}
