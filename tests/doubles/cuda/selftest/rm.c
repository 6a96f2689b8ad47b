/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of the kernel driver's side. This program defines ioctl, and so sees what a gate
 * would see between the library and the driver. */

static struct {
	int fd;
	uint32_t client, compute, copy, subdevice, channels[8], n_channels;
	uint32_t groups[8], engines[8], subdevices[4], n_groups, n_subdevices;
} seen;

struct alloc {
	uint32_t client, parent, object, class;
	uint64_t params, rights;
	uint32_t bytes, flags, status, padding;
};

struct control {
	uint32_t client, object, command, flags;
	uint64_t params;
	uint32_t bytes, status;
};

static void learn(int fd, const struct alloc *a)
{
	seen.fd = fd;
	seen.client = a->client;
	if (a->class == 0xa06c) {
		seen.groups[seen.n_groups] = a->object;
		seen.engines[seen.n_groups++] = ((uint32_t *)(uintptr_t)a->params)[3];
	}
	if (a->class == 0x2080)
		seen.subdevice = seen.subdevices[seen.n_subdevices++] = a->object;
	else if (a->class == 0xa06c && !seen.compute)
		seen.compute = a->object;
	else if (a->class == 0xa06c)
		seen.copy = a->object;
	else if (a->class == 0xc86f && !seen.copy)
		seen.channels[seen.n_channels++] = a->object;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list rest;
	void *arg;
	int r;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	va_start(rest, request);
	arg = va_arg(rest, void *);
	va_end(rest);
	r = next(fd, request, arg);
	if (_IOC_TYPE(request) == 'F' && _IOC_NR(request) == 0x2b && r == 0)
		learn(fd, arg);
	return r;
}

static uint32_t control_by(
	int fd, uint32_t object, uint32_t command, void *params, uint32_t bytes)
{
	struct control c = {.client = seen.client,
		.object = object,
		.command = command,
		.params = (uint64_t)(uintptr_t)params,
		.bytes = bytes};

	CHECK(ioctl(fd, _IOWR('F', 0x2a, struct control), &c) == 0);
	return c.status;
}

static uint32_t control(uint32_t object, uint32_t command, void *params, uint32_t bytes)
{
	return control_by(seen.fd, object, command, params, bytes);
}

static void handles(void)
{
	uint64_t us = 0;
	uint32_t id;

	begin();
	CHECK(seen.client && seen.compute && seen.copy && seen.n_channels == 8);
	CHECK(control(seen.compute, 0xa06c0104, &us, 8) == 0 && us == 1024);
	us = 300;
	CHECK(control(seen.compute, 0xa06c0103, &us, 8) == 0);
	CHECK(stat_of("group 1 ", "slice_us") == 300);
	CHECK(control(seen.compute, 0xa06c0106, &id, 4) == 0 && id == 1);
	CHECK(control(seen.compute, 0xa06c0103, &us, 4) == 0x3a);
	CHECK(control(seen.compute + 99, 0xa06c0103, &us, 8) == 0x33);
	CHECK(control(seen.compute, 0xa06c0999, &us, 8) == 0x56);
	CHECK(control(seen.subdevice, 0x20800194, NULL, 0) == 0x1b);
}

/* A disabled group is stopped; the others have the time. */
static void schedule(void)
{
	unsigned char off[3] = {0}, on[3] = {1}, now[8] = {1};
	long long before;
	handle s;

	begin();
	OK(cuStreamCreate(&s, 1));
	launch(kernel("spin"), s, 60000000, 0);
	sleep_ms(5);
	CHECK(control(seen.compute, 0xa06c0105, now, 8) == 0);
	CHECK(control(seen.compute, 0xa06c0101, off, 3) == 0);
	CHECK(stat_of("group 1 ", "enabled") == 0);
	before = stat_of("group 1 ", "run_ns");
	CHECK(before > 1000000);
	sleep_ms(30);
	CHECK(stat_of("group 1 ", "run_ns") == before);
	IS(600, cuStreamQuery(s));
	CHECK(control(seen.compute, 0xa06c0101, on, 3) == 0);
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("group 1 ", "run_ns") == 60000000);
}

/* The switches of the whole group, and what it ran between them. */
static void check_trace(char *text)
{
	unsigned long long off, on, began, ended, t;

	CHECK(sscanf(text,
		      "%*d 0 1 0 [off] %llu %llu %*d 0 1 0 [on] %llu %llu "
		      "%*d 0 1 0 us20 %llu %*u",
		      &began, &off, &t, &on, &ended) == 5);
	CHECK(began <= off && off <= t && t <= on && on <= ended);
	free(text);
}

struct disable {
	unsigned char disable, padding[3];
	uint32_t n;
	unsigned char more[8];
	uint64_t event;
	uint32_t clients[64], channels[64];
};

static void channels(void)
{
	struct disable p = {.disable = 1, .n = 7};

	begin();
	for (int i = 0; i < 8; i++) {
		p.clients[i] = seen.client;
		p.channels[i] = seen.channels[i];
	}
	CHECK(control(seen.subdevice, 0x2080110b, &p, sizeof(p)) == 0);
	CHECK(stat_of("group 1 ", "enabled") == 1);
	p.n = 8;
	CHECK(control(seen.subdevice, 0x2080110b, &p, sizeof(p)) == 0);
	CHECK(stat_of("group 1 ", "enabled") == 0);
	p.disable = 0;
	CHECK(control(seen.subdevice, 0x2080110b, &p, sizeof(p)) == 0);
	launch(kernel("us20"), NULL, 0, 0);
	OK(cuCtxSynchronize());
	check_trace(ask("trace"));
}

/* The client belongs to the open file: another file of the process does not give access,
 * that file does in any process. */
static void owner(void)
{
	uint64_t us = 77;
	int status, own;
	pid_t pid;

	begin();
	own = open("/dev/nvidiactl", O_RDWR);
	CHECK(own >= 0);
	CHECK(control_by(own, seen.compute, 0xa06c0103, &us, 8) == 0x23);
	CHECK(control_by(dup(seen.fd), seen.compute, 0xa06c0103, &us, 8) == 0);
	pid = fork();
	if (pid == 0) {
		us = 88;
		CHECK(control(seen.compute, 0xa06c0103, &us, 8) == 0);
		own = open("/dev/nvidiactl", O_RDWR);
		CHECK(control_by(own, seen.compute, 0xa06c0103, &us, 8) == 0x23);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK(status == 0 && stat_of("group 1 ", "slice_us") == 88);
}

static void refused(void)
{
	unsigned char off[3] = {0};
	uint64_t us = 5;
	char path[256];
	FILE *to;

	begin();
	snprintf(path, sizeof(path), "%s/policy", test_folder);
	to = fopen(path, "w");
	fputs("0xa06c0101 0x56  # as some drivers say\n0xa06c0103 0x1b\n", to);
	fclose(to);
	CHECK(control(seen.compute, 0xa06c0101, off, 3) == 0x56);
	CHECK(control(seen.compute, 0xa06c0103, &us, 8) == 0x1b);
	CHECK(stat_of("group 1 ", "enabled") == 1);
}

/* The structure of schedule got a third flag with 575. */
static void old_driver(void)
{
	unsigned char off[3] = {0};

	begin();
	CHECK(control(seen.compute, 0xa06c0101, off, 3) == 0x3a);
	CHECK(control(seen.channels[0], 0xa06f0103, off, 3) == 0x3a);
	CHECK(control(seen.channels[0], 0xa06f0103, off, 2) == 0);
	CHECK(control(seen.compute, 0xa06c0101, off, 2) == 0);
	CHECK(stat_of("group 1 ", "enabled") == 0);
}

static void new_driver(void)
{
	unsigned char off[3] = {0};

	begin();
	CHECK(control(seen.compute, 0xa06c0101, off, 2) == 0x3a);
	CHECK(control(seen.channels[0], 0xa06f0103, off, 2) == 0x3a);
	CHECK(control(seen.channels[0], 0xa06f0103, off, 3) == 0);
	CHECK(control(seen.compute, 0xa06c0101, off, 3) == 0);
	CHECK(stat_of("group 1 ", "enabled") == 0);
}

/* Streams are distributed over the compute groups, each of which can be stopped; a group
 * takes turns with the others of its context. */
static void several_groups(void)
{
	unsigned char off[3] = {0}, on[3] = {1};
	handle s[3];
	uint32_t id;

	begin();
	CHECK(seen.n_groups == 5);
	for (int i = 0; i < 5; i++)
		CHECK(seen.engines[i] == (i < 3 ? 1 : (uint32_t)i + 6));
	for (int i = 0; i < 3; i++) {
		CHECK(control(seen.groups[i], 0xa06c0106, &id, 4) == 0);
		CHECK(id == (uint32_t)i + 1);
		OK(cuStreamCreate(&s[i], 1));
	}
	CHECK(control(seen.groups[1], 0xa06c0101, off, 3) == 0);
	CHECK(stat_of("group 2 ", "enabled") == 0);
	for (int i = 0; i < 3; i++)
		launch(kernel("spin"), s[i], 20000000, 0);
	/* The first stream is the second of the context, after the default one. */
	OK(cuStreamSynchronize(s[1]));
	OK(cuStreamSynchronize(s[2]));
	IS(600, cuStreamQuery(s[0]));
	CHECK(stat_of("group 1 ", "run_ns") == 20000000);
	CHECK(stat_of("group 2 ", "run_ns") == 0);
	CHECK(stat_of("group 3 ", "run_ns") == 20000000);
	CHECK(stat_of("gpu 0", "switches") > 10);
	CHECK(control(seen.groups[1], 0xa06c0101, on, 3) == 0);
	OK(cuCtxSynchronize());
	CHECK(stat_of("group 2 ", "run_ns") == 20000000);
}

/* A subdevice knows the channels of its own GPU. */
static void two_gpus(void)
{
	struct disable p = {.disable = 1, .n = 1};
	handle ctx;

	begin();
	OK(cuCtxCreate_v2(&ctx, 0, 1));
	CHECK(seen.n_subdevices == 2);
	p.clients[0] = seen.client;
	p.channels[0] = seen.channels[0];
	CHECK(control(seen.subdevices[1], 0x2080110b, &p, sizeof(p)) == 0x33);
	CHECK(control(seen.subdevices[0], 0x2080110b, &p, sizeof(p)) == 0);
	p.event = 1;
	CHECK(control(seen.subdevices[0], 0x2080110b, &p, sizeof(p)) == 0x1b);
}

/* A set time slice is read back unchanged, and a running group is preempted for it. */
static void slices(void)
{
	uint64_t us = 0;
	handle s;

	begin();
	CHECK(control(seen.compute, 0xa06c0103, &us, 8) == 0);
	us = 9;
	CHECK(control(seen.compute, 0xa06c0104, &us, 8) == 0 && us == 0);
	us = 4000;
	OK(cuStreamCreate(&s, 1));
	launch(kernel("spin"), s, 20000000, 0);
	CHECK(control(seen.compute, 0xa06c0103, &us, 8) == 0);
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("group 1 ", "run_ns") == 20000000);
}

/* A process that keeps the file keeps a dead process's memory. */
static void held(void)
{
	int pair[2];
	pid_t pid;
	struct msghdr m = {0};
	struct iovec part;
	char c = 0, space[CMSG_SPACE(sizeof(int))] = {0};
	int fd;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	part = (struct iovec){&c, 1};
	m = (struct msghdr){.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space)};
	pid = fork();
	if (pid == 0) {
		begin();
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &seen.fd, sizeof(int));
		CHECK(sendmsg(pair[1], &m, 0) == 1);
		pause();
	}
	CHECK(recvmsg(pair[0], &m, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep_ms(20);
	CHECK(stat_of("group", "enabled") == -1);
	CHECK(stat_of("gpu 0", "used") == 300LL << 20);
	close(fd);
	sleep_ms(20);
	CHECK(stat_of("gpu 0", "used") == 0);
}

static void other_files(void)
{
	char text[8] = "";
	int fd = open("/proc/self/comm", O_RDONLY), n = 0;

	CHECK(fd >= 0 && read(fd, text, 6) == 6 && strncmp(text, "double", 6) == 0);
	CHECK(ioctl(fd, FIONREAD, &n) == 0 || n == 0);
	unsetenv("CLV_CUDA_DOUBLE");
	CHECK(open("/dev/nvidiactl", O_RDWR) < 0);
}

const struct case_of_test rm_cases[] = {
	{"rm-handles", handles, NULL, NULL},
	{"rm-schedule", schedule, NULL, NULL},
	{"rm-channels", channels, "trace\n", NULL},
	{"rm-owner", owner, NULL, NULL},
	{"rm-refused", refused, NULL, NULL},
	{"rm-old-driver", old_driver, "driver 570\n", NULL},
	{"rm-new-driver", new_driver, "driver 575\n", NULL},
	{"rm-groups", several_groups, "compute-groups 3\ncopy-groups 2\n", NULL},
	{"rm-two-gpus", two_gpus, NULL, "gpu T4\ngpu T4\n"},
	{"rm-slices", slices, NULL, NULL},
	{"rm-held", held, NULL, NULL},
	{"rm-other-files", other_files, NULL, NULL},
	{0},
};
