/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of pools, virtual memory, arrays, memory shared by two processes, and green
 * contexts. */

#define MIB ((size_t)1 << 20)

static uint64_t attribute(handle pool, int which)
{
	uint64_t value;

	OK(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void pools(void)
{
	uint64_t keep = UINT64_MAX;
	long long before;
	handle pool, s;
	dptr p, q;

	begin();
	before = stat_of("gpu 0", "used");
	OK(cuStreamCreate(&s, 1));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&p, 10 * MIB, s));
	CHECK(attribute(pool, 5) == 32 * MIB && attribute(pool, 7) == 10 * MIB);
	CHECK(stat_of("gpu 0", "used") - before == (long long)(32 * MIB));
	launch(kernel("ms1"), s, 0, 0);
	OK(cuMemFreeAsync(p, s));
	/* The stream's order allows the reuse before the memory is freed. */
	OK(cuMemAllocAsync(&q, 30 * MIB, s));
	CHECK(attribute(pool, 5) == 32 * MIB && attribute(pool, 8) == 30 * MIB);
	OK(cuMemFreeAsync(q, s));
	OK(cuStreamSynchronize(s));
	IS(1, cuMemFreeAsync(q, s));
	CHECK(stat_of("gpu 0", "used") == before);
	OK(cuMemPoolSetAttribute(pool, 4, &keep));
	OK(cuMemAllocAsync(&p, 10 * MIB, s));
	OK(cuMemFree_v2(p));
	CHECK(stat_of("gpu 0", "used") - before == (long long)(32 * MIB));
	OK(cuMemPoolTrimTo(pool, 0));
	CHECK(stat_of("gpu 0", "used") == before && attribute(pool, 6) == 32 * MIB);
	IS(1, cuMemPoolDestroy(pool));
	IS(2, cuMemAllocAsync(&p, (size_t)100 << 30, s));
}

struct prop {
	int type;
	unsigned handles;
	int where, id;
	void *win32;
	unsigned char flags[8];
};
static const struct prop prop = {.type = 1, .handles = 1, .where = 1};
static const struct {
	int where, id, flags;
} both_ways = {1, 0, 3};

static void virtual_memory(void)
{
	char text[8] = "", *both;
	long long before;
	handle a, b;
	dptr p;

	begin();
	before = stat_of("gpu 0", "used");
	OK(cuMemAddressReserve(&p, 4 * MIB, 0, 0, 0));
	IS(1, cuMemCreate(&a, MIB, &prop, 0));
	OK(cuMemCreate(&a, 2 * MIB, &prop, 0));
	OK(cuMemCreate(&b, 2 * MIB, &prop, 0));
	CHECK(stat_of("gpu 0", "used") - before == (long long)(4 * MIB));
	OK(cuMemMap(p, 2 * MIB, 0, a, 0));
	OK(cuMemMap(p + 2 * MIB, 2 * MIB, 0, b, 0));
	IS(208, cuMemMap(p, 2 * MIB, 0, b, 0));
	IS(1, cuMemcpyHtoD_v2(p, "abc", 4));
	OK(cuMemSetAccess(p, 4 * MIB, &both_ways, 1));
	OK(cuMemcpyHtoD_v2(p + 2 * MIB - 2, "abc", 4));
	OK(cuMemcpyDtoH_v2(text, p + 2 * MIB - 2, 4));
	CHECK(strcmp(text, "abc") == 0);
	OK(cuMemRelease(a));
	OK(cuMemRelease(b));
	CHECK(stat_of("gpu 0", "used") - before == (long long)(4 * MIB));
	IS(1, cuMemAddressFree(p, 4 * MIB));
	OK(cuMemUnmap(p, 4 * MIB));
	CHECK(stat_of("gpu 0", "used") == before);
	IS(1, cuMemcpyHtoD_v2(p, "abc", 4));
	OK(cuMemAddressFree(p, 4 * MIB));
	both = text;
	IS(1, cuMemFree_v2((dptr)(uintptr_t)both));
}

struct shape {
	size_t width, height, depth;
	unsigned format, channels, flags;
};

static void arrays(void)
{
	struct shape shape = {100, 100, 0, 0x20, 4, 0};
	struct {
		size_t bytes, alignment;
		unsigned reserved[4];
	} needs;
	char back[8] = "";
	long long before;
	handle a, m;

	begin();
	before = stat_of("gpu 0", "used");
	OK(cuArray3DCreate_v2(&a, &shape));
	CHECK(stat_of("gpu 0", "used") - before == 3 * 65536);
	OK(cuMemcpyHtoA_v2(a, 1592, "12345678", 8));
	OK(cuMemcpyAtoH_v2(back, a, 1593, 7));
	CHECK(memcmp(back, "2345678", 7) == 0);
	IS(1, cuMemcpyHtoA_v2(a, 1593, "12345678", 8));
	IS(1, cuArrayGetMemoryRequirements(&needs, a, 0));
	OK(cuArrayDestroy(a));
	IS(400, cuArrayDestroy(a));
	OK(cuMipmappedArrayCreate(&m, &shape, 3));
	CHECK(stat_of("gpu 0", "used") - before == 4 * 65536);
	OK(cuMipmappedArrayDestroy(m));
	shape.flags = 0x80;
	OK(cuArray3DCreate_v2(&a, &shape));
	OK(cuArrayGetMemoryRequirements(&needs, a, 0));
	CHECK(needs.bytes == 3 * 65536 && stat_of("gpu 0", "used") == before);
	shape.format = 0x77;
	IS(1, cuArray3DCreate_v2(&a, &shape));
}

/* --- Two processes --- */

struct parcel {
	struct ipc ipc;
	char pointer[64];
	int fds[2]; /* of a pool and of physical memory */
};

static void send_parcel(int to, const struct parcel *parcel)
{
	struct iovec part = {(void *)(uintptr_t)parcel, sizeof(*parcel)};
	char space[CMSG_SPACE(sizeof(parcel->fds))] = {0};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(parcel->fds));
	memcpy(CMSG_DATA(c), parcel->fds, sizeof(parcel->fds));
	CHECK(sendmsg(to, &m, 0) == sizeof(*parcel));
}

static void receive_parcel(int from, struct parcel *parcel)
{
	struct iovec part = {parcel, sizeof(*parcel)};
	char space[CMSG_SPACE(sizeof(parcel->fds))];
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space)};

	CHECK(recvmsg(from, &m, 0) == sizeof(*parcel));
	memcpy(parcel->fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(parcel->fds));
}

static void export_all(int to)
{
	unsigned char props[88] = {0};
	struct parcel parcel;
	handle pool, memory;
	dptr p;
	char c;

	begin();
	OK(cuMemAlloc_v2(&p, 2 * MIB));
	OK(cuMemcpyHtoD_v2(p, "first", 6));
	OK(cuIpcGetMemHandle(&parcel.ipc, p));
	IS(201, cuIpcOpenMemHandle_v2(&p, parcel.ipc, 1));
	*(int *)(void *)props = *(int *)(void *)(props + 4) =
		*(int *)(void *)(props + 8) = 1;
	OK(cuMemPoolCreate(&pool, props));
	OK(cuMemPoolExportToShareableHandle(&parcel.fds[0], pool, 1, 0));
	OK(cuMemAllocFromPoolAsync(&p, 100, pool, NULL));
	OK(cuMemcpyHtoD_v2(p, "second", 7));
	OK(cuMemPoolExportPointer(parcel.pointer, p));
	OK(cuMemCreate(&memory, 2 * MIB, &prop, 0));
	OK(cuMemAddressReserve(&p, 2 * MIB, 0, 0, 0));
	OK(cuMemMap(p, 2 * MIB, 0, memory, 0));
	OK(cuMemSetAccess(p, 2 * MIB, &both_ways, 1));
	OK(cuMemcpyHtoD_v2(p, "third", 6));
	OK(cuMemExportToShareableHandle(&parcel.fds[1], memory, 1, 0));
	send_parcel(to, &parcel);
	CHECK(read(to, &c, 1) == 1);
	_exit(0);
}

static void has_text(dptr p, const char *text)
{
	char back[16] = "";

	OK(cuMemcpyDtoH_v2(back, p, strlen(text) + 1));
	CHECK(strcmp(back, text) == 0);
}

static void shared(void)
{
	struct parcel parcel;
	handle pool, memory;
	int pair[2], status;
	long long before;
	pid_t pid;
	dptr p;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	pid = fork();
	if (pid == 0)
		export_all(pair[1]);
	begin();
	receive_parcel(pair[0], &parcel);
	before = stat_of("gpu 0", "used");
	OK(cuIpcOpenMemHandle_v2(&p, parcel.ipc, 1));
	has_text(p, "first");
	OK(cuIpcCloseMemHandle(p));
	IS(1, cuIpcCloseMemHandle(p));
	OK(cuMemPoolImportFromShareableHandle(
		&pool, (handle)(intptr_t)parcel.fds[0], 1, 0));
	OK(cuMemPoolImportPointer(&p, pool, parcel.pointer));
	has_text(p, "second");
	OK(cuMemImportFromShareableHandle(&memory, (handle)(intptr_t)parcel.fds[1], 1));
	OK(cuMemAddressReserve(&p, 2 * MIB, 0, 0, 0));
	OK(cuMemMap(p, 2 * MIB, 0, memory, 0));
	OK(cuMemSetAccess(p, 2 * MIB, &both_ways, 1));
	has_text(p, "third");
	CHECK(stat_of("gpu 0", "used") == before);
	CHECK(write(pair[0], "", 1) == 1);
	waitpid(pid, &status, 0);
	CHECK(status == 0);
}

static void export_and_end(int to)
{
	struct parcel parcel = {{{0}}, "", {0, 0}};
	handle memory;

	begin();
	OK(cuMemCreate(&memory, 4 * MIB, &prop, 0));
	OK(cuMemExportToShareableHandle(&parcel.fds[0], memory, 1, 0));
	parcel.fds[1] = parcel.fds[0];
	send_parcel(to, &parcel);
	_exit(0);
}

/* Memory lives as long as any process has a file or an import of it. */
static void outlived(void)
{
	struct parcel parcel;
	long long before;
	handle memory;
	int pair[2];
	pid_t pid;
	dptr p;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	pid = fork();
	if (pid == 0)
		export_and_end(pair[1]);
	receive_parcel(pair[0], &parcel);
	waitpid(pid, NULL, 0);
	begin();
	before = 4 * MIB + 300 * MIB;
	while (stat_of("gpu 0", "used") != before)
		usleep(1000);
	close(parcel.fds[0]);
	CHECK(stat_of("gpu 0", "used") == before);
	OK(cuMemImportFromShareableHandle(&memory, (handle)(intptr_t)parcel.fds[1], 1));
	close(parcel.fds[1]);
	CHECK(stat_of("gpu 0", "used") == before);
	OK(cuMemAddressReserve(&p, 4 * MIB, 0, 0, 0));
	OK(cuMemMap(p, 4 * MIB, 0, memory, 0));
	OK(cuMemRelease(memory));
	CHECK(stat_of("gpu 0", "used") == before);
	OK(cuMemUnmap(p, 4 * MIB));
	CHECK(stat_of("gpu 0", "used") == (long long)(before - 4 * MIB));
}

/* As with a real driver, whose exports are all files of the control device. */
static void one_inode(void)
{
	struct stat st[2];
	handle first, second;
	int fds[2];

	shared();
	OK(cuMemCreate(&first, 2 * MIB, &prop, 0));
	OK(cuMemCreate(&second, 4 * MIB, &prop, 0));
	OK(cuMemExportToShareableHandle(&fds[0], first, 1, 0));
	OK(cuMemExportToShareableHandle(&fds[1], second, 1, 0));
	CHECK(fstat(fds[0], &st[0]) == 0 && fstat(fds[1], &st[1]) == 0);
	CHECK(st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino);
	OK(cuMemImportFromShareableHandle(&second, (handle)(intptr_t)dup(fds[0]), 1));
	IS(1, cuMemImportFromShareableHandle(&second, (handle)(intptr_t)0, 1));
}

static void green(void)
{
	struct {
		int type;
		unsigned char padding[92];
		unsigned sms;
		unsigned char room[44];
	} whole, parts[4], rest;
	handle desc, ctx, g, s;
	unsigned n = 4;
	dptr p;

	begin();
	OK(cuDeviceGetDevResource(0, &whole, 1));
	CHECK(whole.sms == 132);
	OK(cuDevSmResourceSplitByCount(parts, &n, &whole, &rest, 0, 60));
	CHECK(n == 2 && parts[0].sms == 64 && rest.sms == 4);
	OK(cuDevResourceGenerateDesc(&desc, parts, 1));
	OK(cuGreenCtxCreate(&g, desc, 0, 1));
	OK(cuGreenCtxStreamCreate(&s, g, 1, 0));
	OK(cuCtxFromGreenCtx(&ctx, g));
	CHECK(stat_of("gpu 0", "used") == (long long)(600 * MIB));
	launch(kernel("ms1"), s, 0, 0);
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("process", "run_ns") == 1000000 * 1000LL / (64 * 1000 / 132));
	OK(cuCtxPushCurrent_v2(ctx));
	OK(cuMemAlloc_v2(&p, 10 * MIB));
	OK(cuCtxPopCurrent_v2(NULL));
	launch(kernel("ms1"), s, 0, 0);
	OK(cuGreenCtxDestroy(g));
	/* The memory is the primary context's, and the stream is left, of no use. */
	CHECK(stat_of("gpu 0", "used") == (long long)(310 * MIB));
	CHECK(stat_of("process", "run_ns") == 2 * (1000000 * 1000LL / (64 * 1000 / 132)));
	IS(709, cuStreamQuery(s));
	IS(709, cuStreamDestroy_v2(s));
	OK(cuMemFree_v2(p));
}

/* Several operations at once, in both forms of such calls. */
static void batches(void)
{
	struct {
		uint32_t operation;
		uint64_t at, value;
		uint32_t flags;
		uint64_t alias;
		uint64_t room;
	} ops[2] = {{2, 0, 41, 0, 0, 0}, {1, 0, 41, 1, 0, 0}};
	struct location location = {1, 0};
	size_t sizes[2] = {4, 4};
	struct operand {
		int type;
		dptr at;
		size_t row, rows;
		struct location where;
	};
	struct {
		struct operand src, dst;
		size_t extent[3];
		int order;
		unsigned flags;
	} copy = {.extent = {2, 2, 1}};
	char text[] = "abcdefgh", back[9] = "";
	handle s, pool, same;
	dptr p, managed, from[2], to[2];

	begin();
	OK(cuStreamCreate(&s, 1));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemGetDefaultMemPool(&same, &location, 1));
	CHECK(pool == same);
	OK(cuMemAlloc_v2(&p, 64));
	from[0] = (dptr)(uintptr_t)text;
	from[1] = from[0] + 4;
	to[0] = p + 4;
	to[1] = p;
	OK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, NULL, NULL, 0, s));
	IS(1, cuMemcpyBatchAsync_v2(to, from, sizes, 2, NULL, NULL, 0, NULL));
	copy.src = (struct operand){1, p, 4, 2, location};
	copy.dst = (struct operand){1, p + 16, 2, 2, location};
	OK(cuMemcpy3DBatchAsync_v2(1, &copy, 0, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(back, p, 8));
	CHECK(strcmp(back, "efghabcd") == 0);
	OK(cuMemcpyDtoH_v2(back, p + 16, 4));
	CHECK(strncmp(back, "efab", 4) == 0);
	ops[0].at = ops[1].at = p + 32;
	OK(cuStreamBatchMemOp_v2(s, 2, ops, 0));
	OK(cuMemAllocManaged(&managed, 20000000, 1));
	OK(cuMemPrefetchAsync_v2(managed, 20000000, location, 0, s));
	IS(1, cuMemPrefetchAsync_v2(p, 4, location, 0, s));
	OK(cuStreamSynchronize(s));
	CHECK(stat_of("process", "copy_ns") == 1000000);
}

const struct case_of_test pool_cases[] = {
	{"pools", pools, NULL, NULL},
	{"virtual-memory", virtual_memory, NULL, NULL},
	{"arrays", arrays, NULL, NULL},
	{"shared", shared, NULL, NULL},
	{"outlived", outlived, NULL, NULL},
	{"one-inode", one_inode, "one-inode\n", NULL},
	{"outlived-one-inode", outlived, "one-inode\n", NULL},
	{"batches", batches, NULL, NULL},
	{"green", green, NULL, NULL},
	{0},
};
