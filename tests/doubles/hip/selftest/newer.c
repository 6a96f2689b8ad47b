/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of the calls that came with ROCm 6, and of their absence before. */

#if DHI_ROCM >= 6
static long long used(void)
{
	return stat_of("gpu 0", "used");
}

static void map(void *at, size_t bytes, struct physical *physical)
{
	struct access access = {{1, 0}, 3};

	OK(hipMemMap(at, bytes, 0, physical, 0));
	OK(hipMemSetAccess(at, bytes, &access, 1));
}

static void virtual_memory(void)
{
	struct alloc_props props = {.type = 1, .handle_type = 1, .location = {1, 0}};
	struct physical *physical;
	uint32_t value = 0;
	size_t piece;
	void *at;

	OK(hipMemGetAllocationGranularity(&piece, &props, 0));
	CHECK(piece == 2 * MIB);
	OK(hipMemAddressReserve(&at, 8 * MIB, 0, NULL, 0));
	CHECK(used() == 0);
	OK(hipMemCreate(&physical, 4 * MIB, &props, 0));
	CHECK(used() == (long long)(4 * MIB));
	map(at, 4 * MIB, physical);
	OK(hipMemset(at, 5, 4 * MIB));
	OK(hipMemcpy(&value, (char *)at + MIB, 4, HIP_TO_HOST));
	CHECK(value == 0x05050505);
	/* The piece lives as long as a handle or a mapping. */
	OK(hipMemRelease(physical));
	CHECK(used() == (long long)(4 * MIB));
	OK(hipMemUnmap(at, 4 * MIB));
	CHECK(used() == 0);
	OK(hipMemAddressFree(at, 8 * MIB));
	IS(HIP_OUT_OF_MEMORY, hipMemCreate(&physical, 100 * GIB, &props, 0));
	IS(HIP_INVALID_VALUE, hipMemCreate(&physical, 5, &props, 0));
}

/* Sends the file in a message, or receives one. */
static int pass(int socket, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {0};
	char byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	if (fd < 0) {
		CHECK(recvmsg(socket, &message, 0) == 1);
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		return fd;
	}
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, 0) == 1);
	return fd;
}

static void import(int fd)
{
	struct physical *physical;
	uint32_t value = 0;
	void *at;

	OK(hipMemImportFromShareableHandle(&physical, (void *)(intptr_t)fd, 1));
	OK(hipMemAddressReserve(&at, 2 * MIB, 0, NULL, 0));
	map(at, 2 * MIB, physical);
	OK(hipMemcpy(&value, at, 4, HIP_TO_HOST));
	CHECK(value == 0x07070707);
	CHECK(used() == (long long)(2 * MIB));
}

static void exported(void)
{
	struct alloc_props props = {.type = 1, .handle_type = 1, .location = {1, 0}};
	struct physical *physical;
	int fd = -1, sockets[2], status;
	pid_t pid;
	void *at;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	pid = fork();
	if (pid == 0) {
		import(pass(sockets[0], -1));
		_exit(0);
	}
	OK(hipMemCreate(&physical, 2 * MIB, &props, 0));
	OK(hipMemAddressReserve(&at, 2 * MIB, 0, NULL, 0));
	map(at, 2 * MIB, physical);
	OK(hipMemset(at, 7, 2 * MIB));
	OK(hipDeviceSynchronize());
	OK(hipMemExportToShareableHandle(&fd, physical, 1, 0));
	pass(sockets[1], fd);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
}

static void *symbol(const char *name, int version, uint64_t flags)
{
	int status = 9;
	void *found = NULL;

	OK(hipGetProcAddress(name, &found, version, flags, &status));
	CHECK(status == 0 && found);
	return found;
}

int hipMemcpy_spt(void *dst, const void *src, size_t bytes, int kind);

static void by_name(void)
{
	void *found;
	int status;

	CHECK(symbol("hipMalloc", 602, 0) == (void *)hipMalloc);
	CHECK(symbol("hipMemcpy", 602, 2) == (void *)hipMemcpy_spt);
	CHECK(symbol("hipMalloc", 602, 2) == (void *)hipMalloc);
	CHECK(symbol("hipGetDeviceProperties", 500, 0) == (void *)hipGetDeviceProperties);
	CHECK(symbol("hipGetDeviceProperties", 602, 0) ==
		(void *)hipGetDevicePropertiesR0600);
	IS(HIP_NOT_FOUND, hipGetProcAddress("hipNothing", &found, 602, 0, &status));
	CHECK(status == 1);
}

static void properties(void)
{
	static struct props_6 now;
	static struct props_5 before;

	OK(hipGetDevicePropertiesR0600(&now, 0));
	OK(hipGetDeviceProperties(&before, 0));
	CHECK(strcmp(now.name, "AMD Instinct MI300X") == 0 && now.units == 304);
	CHECK(strcmp(now.arch_name, "gfx942:sramecc+:xnack-") == 0);
	CHECK(memcmp(now.uuid.bytes, "9a3b000000000500", 16) == 0);
	CHECK(strcmp(before.name, now.name) == 0 && before.units == 304);
	CHECK(before.total_bytes == now.total_bytes);
}

static _Atomic int called;

static void count_call(void *user)
{
	called += (int)(intptr_t)user;
}

static void launches(void)
{
	struct drv_launch_config config = {.grid = {100, 1, 1}, .block = {64, 1, 1}};
	struct event *from, *to;

	OK(hipEventCreate(&from));
	OK(hipEventCreate(&to));
	launch(kernel("ms100"), NULL, 0, 0);
	OK(hipEventRecord(from, NULL));
	OK(hipDrvLaunchKernelEx(&config, kernel("groups"), NULL, NULL));
	OK(hipEventRecord(to, NULL));
	OK(hipLaunchHostFunc(NULL, count_call, (void *)4));
	OK(hipDeviceSynchronize());
	CHECK(called == 4);
	BETWEEN(0.0999, elapsed_ms(from, to), 0.1001);
}

/* ROCm 6 queries the driver for free memory, so another process's memory is
 * subtracted. */
static void others_memory(void)
{
	int ready[2], done[2];
	size_t left, total;
	void *p;
	char c;

	CHECK(pipe(ready) == 0 && pipe(done) == 0);
	if (fork() == 0) {
		OK(hipMalloc(&p, 3 * GIB));
		CHECK(write(ready[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	OK(hipMemGetInfo(&left, &total));
	CHECK(left == total - 3 * GIB);
	CHECK(write(done[1], "", 1) == 1);
}

static void semaphores_in_graphs(void)
{
	struct semaphore_handle desc = {.type = 9};
	struct semaphore_value until = {.value = 1};
	struct semaphore *semaphore;
	struct semaphores_params p = {&semaphore, &until, 1}, back;
	struct stream *stream;
	struct graph *graph;
	struct node *node;
	struct exec *exec;
	volatile uint64_t *value;
	int type;

	desc.handle.fd = memfd_create("semaphore", 0);
	CHECK(ftruncate(desc.handle.fd, 4096) == 0);
	value = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, desc.handle.fd, 0);
	OK(hipImportExternalSemaphore(&semaphore, &desc));
	OK(hipStreamCreateWithFlags(&stream, 1));
	OK(hipGraphCreate(&graph, 0));
	OK(hipGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &p));
	OK(hipGraphNodeGetType(node, &type));
	OK(hipGraphExternalSemaphoresWaitNodeGetParams(node, &back));
	CHECK(type == 9 && back.n == 1 && back.semaphores[0] == semaphore);
	OK(hipGraphInstantiateWithFlags(&exec, graph, 0));
	until.value = 2;
	OK(hipGraphExecExternalSemaphoresWaitNodeSetParams(exec, node, &p));
	OK(hipGraphLaunch(exec, stream));
	*value = 1;
	sleep_ms(5);
	IS(600, hipStreamQuery(stream));
	*value = 2;
	OK(hipStreamSynchronize(stream));
}

const struct case_of_test newer_cases[] = {
	{"semaphores-in-graphs", semaphores_in_graphs, NULL, NULL},
	{"virtual-memory", virtual_memory, NULL, NULL},
	{"exported", exported, NULL, NULL},
	{"by-name", by_name, NULL, NULL},
	{"properties", properties, NULL, "gpu MI300X\n"},
	{"newer-launches", launches, NULL, NULL},
	{"others-memory", others_memory, NULL, NULL},
	{0},
};
#else
/* ROCm 5 has the names, but the calls fail. */
static void nothing_virtual(void)
{
	void *at;

	IS(HIP_NOT_SUPPORTED, hipMemAddressReserve(&at, 8 * MIB, 0, NULL, 0));
	IS(HIP_NOT_SUPPORTED, hipMemUnmap(NULL, 0));
}

static void own_memory(void)
{
	size_t left, total;
	void *p;
	int ready[2], done[2];
	char c;

	CHECK(pipe(ready) == 0 && pipe(done) == 0);
	if (fork() == 0) {
		OK(hipMalloc(&p, 3 * GIB));
		CHECK(write(ready[1], "", 1) == 1 && read(done[0], &c, 1) == 1);
		_exit(0);
	}
	CHECK(read(ready[0], &c, 1) == 1);
	OK(hipMemGetInfo(&left, &total));
	CHECK(left == total);
	CHECK(write(done[1], "", 1) == 1);
}

const struct case_of_test newer_cases[] = {
	{"nothing-virtual", nothing_virtual, NULL, NULL},
	{"own-memory", own_memory, NULL, NULL},
	{0},
};
#endif
