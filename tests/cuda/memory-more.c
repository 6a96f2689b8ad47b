/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is got in other ways than by an address. */
#include "memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int cuDeviceSetMemPool(int device, handle pool);
int cuDeviceGetMemPool(handle *pool, int device);

int cuMemRetainAllocationHandle(handle *piece, void *address);

int cuArrayCreate_v2(handle *array, const void *descriptor);

static const struct properties on_device = {1, 1, {1, 0}, NULL, {0}};
static const struct properties on_host = {1, 0, {2, 0}, NULL, {0}};

/* A pool keeps what was freed until the program waits, and that counts. */
void async(void)
{
	dptr a, b;

	OK(cuMemAllocAsync(&a, 600 * MIB, NULL));
	CHECK(free_bytes() <= 424 * MIB);
	CHECK(cuMemAllocAsync(&b, 600 * MIB, NULL) == OUT_OF_MEMORY);
	CHECK(cuMemAlloc_v2(&b, 600 * MIB) == OUT_OF_MEMORY);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuStreamSynchronize(NULL));
	OK(cuMemAlloc_v2(&b, 1000 * MIB));
	OK(cuMemFree_v2(b));
	OK(cuMemAllocAsync(&a, 600 * MIB, NULL));
	OK(cuMemFree_v2(a));
}

/* What is freed behind work is there until the work is done. */
void behind_work(void)
{
	handle stream, graph;
	uint32_t *word;
	dptr a, b;

	OK(cuStreamCreate(&stream, 1));
	OK(cuMemHostAlloc((void **)(void *)&word, 4096, 0));
	OK(cuStreamWaitValue32_v2(stream, (dptr)(uintptr_t)word, 1, 1));
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	OK(cuMemFreeAsync(a, stream));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(cuMemAlloc_v2(&b, 600 * MIB) == OUT_OF_MEMORY);
	*(volatile uint32_t *)word = 1;
	OK(cuStreamSynchronize(stream));
	OK(cuMemAlloc_v2(&b, 600 * MIB));
	OK(cuMemFreeAsync(b, NULL));
	OK(cuStreamSynchronize(NULL));
	CHECK(free_bytes() == QUOTA);
	/* In a capture nothing is freed yet. */
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuMemFreeAsync(a, stream));
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == QUOTA);
}

/* One that keeps all for itself takes from the same room again and again. */
void pools(void)
{
	struct pool_properties properties = {.type = 1, .location = {1, 0}};
	uint64_t keep = UINT64_MAX;
	handle pool;
	dptr a, b;

	OK(cuMemPoolCreate(&pool, &properties));
	OK(cuMemPoolSetAttribute(pool, 4, &keep));
	for (int i = 0; i < 4; i++) {
		OK(cuMemAllocFromPoolAsync(&a, 700 * MIB, pool, NULL));
		CHECK(cuMemAlloc_v2(&b, 400 * MIB) == OUT_OF_MEMORY);
		OK(cuMemFreeAsync(a, NULL));
		OK(cuStreamSynchronize(NULL));
	}
	CHECK(cuMemAlloc_v2(&b, 400 * MIB) == OUT_OF_MEMORY);
	OK(cuMemPoolTrimTo(pool, 0));
	CHECK(free_bytes() == QUOTA);
	OK(cuMemAllocFromPoolAsync(&a, 700 * MIB, pool, NULL));
	OK(cuMemPoolDestroy(pool));
	CHECK(cuMemPoolDestroy(pool) != 0);
	CHECK(cuMemAlloc_v2(&b, 400 * MIB) == OUT_OF_MEMORY);
	OK(cuMemFree_v2(a));
	CHECK(free_bytes() == QUOTA);
	OK(cuMemAlloc_v2(&b, 1000 * MIB));
}

/* No pool of the driver's, and no charge that stays. */
void pools_again(void)
{
	struct pool_properties properties = {.type = 1, .location = {1, 0}};
	handle pool, of_device;
	dptr a;

	OK(cuDeviceGetMemPool(&of_device, 0));
	OK(cuMemAllocAsync(&a, 100 * MIB, NULL));
	CHECK(cuMemPoolDestroy(of_device) != 0);
	OK(cuMemFreeAsync(a, NULL));
	for (int i = 0; i < 20; i++) {
		OK(cuMemPoolCreate(&pool, &properties));
		OK(cuDeviceSetMemPool(0, pool));
		OK(cuMemAllocAsync(&a, 200 * MIB, NULL));
		OK(cuMemFreeAsync(a, NULL));
		OK(cuMemPoolDestroy(pool));
		OK(cuDeviceGetMemPool(&pool, 0));
		CHECK(pool == of_device);
	}
	OK(cuStreamSynchronize(NULL));
	CHECK(free_bytes() == QUOTA);
}

int cuMemGetDefaultMemPool(handle *pool, void *location, int type);

/* Its memory is the host's. */
void host_pool(void)
{
	int host[2] = {2, 0}, device[2] = {1, 0};
	handle pool, of_device;
	dptr a, b;

	OK(cuMemGetDefaultMemPool(&pool, host, 1));
	OK(cuMemAllocFromPoolAsync(&a, 2048 * MIB, pool, NULL));
	CHECK(free_bytes() == QUOTA);
	OK(cuMemGetDefaultMemPool(&of_device, device, 1));
	CHECK(cuMemAllocFromPoolAsync(&b, 2048 * MIB, of_device, NULL) == OUT_OF_MEMORY);
	OK(cuMemAllocFromPoolAsync(&b, 700 * MIB, of_device, NULL));
	CHECK(free_bytes() < QUOTA - 700 * MIB + 1);
	OK(cuMemFreeAsync(a, NULL));
	OK(cuMemFreeAsync(b, NULL));
	OK(cuStreamSynchronize(NULL));
	CHECK(free_bytes() == QUOTA);
}

/* It lives as long as its handle or a mapping. */
void mapped(void)
{
	handle piece, other, again;
	dptr at;

	CHECK(cuMemCreate(&piece, 2048 * MIB, &on_device, 0) == OUT_OF_MEMORY);
	OK(cuMemCreate(&piece, 600 * MIB, &on_device, 0));
	CHECK(cuMemCreate(&other, 600 * MIB, &on_device, 0) == OUT_OF_MEMORY);
	OK(cuMemCreate(&other, 2048 * MIB, &on_host, 0));
	OK(cuMemAddressReserve(&at, 600 * MIB, 0, 0, 0));
	OK(cuMemMap(at, 600 * MIB, 0, piece, 0));
	OK(cuMemRelease(piece));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)at));
	OK(cuMemUnmap(at, 600 * MIB));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemRelease(again));
	CHECK(free_bytes() == QUOTA);
}

/* Exported and imported again it is still one piece, which lives as long as any handle, a
 * mapping, or the file. */
void imported(void)
{
	handle piece, other;
	dptr at;
	int fd, copy;

	OK(cuMemCreate(&piece, 600 * MIB, &on_device, 0));
	OK(cuMemExportToShareableHandle(&fd, piece, 1, 0));
	OK(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, 1));
	OK(cuMemRelease(piece));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemAddressReserve(&at, 600 * MIB, 0, 0, 0));
	OK(cuMemMap(at, 600 * MIB, 0, other, 0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemUnmap(at, 600 * MIB));
	OK(cuMemRelease(other));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	close(fd);
	CHECK(free_bytes() == QUOTA);
	/* Through another number of the file it is the same piece. */
	OK(cuMemCreate(&piece, 600 * MIB, &on_device, 0));
	OK(cuMemExportToShareableHandle(&fd, piece, 1, 0));
	copy = dup(fd);
	OK(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)copy, 1));
	close(fd);
	OK(cuMemRelease(piece));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemMap(at, 600 * MIB, 0, other, 0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemUnmap(at, 600 * MIB));
	OK(cuMemRelease(other));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	close(copy);
	CHECK(free_bytes() == QUOTA);
}

/* A real driver's files are of a device, and all of one inode. */
static bool is_one_inode;

__attribute__((visibility("default"))) int fstat(int fd, struct stat *ret)
{
	int r = (int)syscall(SYS_newfstatat, fd, "", ret, AT_EMPTY_PATH);

	if (r == 0 && is_one_inode) {
		ret->st_dev = 5;
		ret->st_ino = 3;
	}
	return r;
}

/* All by the same number, one after the other; the last one is open. */
void exported(void)
{
	handle piece;
	int fd = -1;

	is_one_inode = true;
	for (int i = 0; i < 6; i++) {
		close(fd);
		OK(cuMemCreate(&piece, 100 * MIB, &on_device, 0));
		OK(cuMemExportToShareableHandle(&fd, piece, 1, 0));
		OK(cuMemRelease(piece));
	}
	CHECK(free_bytes() == QUOTA - 100 * MIB);
	close(fd);
	CHECK(free_bytes() == QUOTA);
}

/* Between two processes of the lease. */

union file_room {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* Exports, and does what it is told. */
void exports(int peer)
{
	struct iovec byte = {.iov_base = (char[1]){'f'}, .iov_len = 1};
	union file_room control = {
		.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	handle piece;
	char word;
	int fd;

	OK(cuMemCreate(&piece, 600 * MIB, &on_device, 0));
	OK(cuMemExportToShareableHandle(&fd, piece, 1, 0));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK(sendmsg(peer, &message, 0) == 1);
	CHECK(read(peer, &word, 1) == 1);
	OK(cuMemRelease(piece));
	close(fd);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(write(peer, "r", 1) == 1);
	CHECK(read(peer, &word, 1) == 1);
}

static pid_t start_exporter(int *ret_peer, int *ret_fd)
{
	struct iovec byte = {.iov_base = (char[1]){0}, .iov_len = 1};
	union file_room control;
	struct msghdr message = {.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	char number[16];
	int pair[2];
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	snprintf(number, sizeof(number), "%d", pair[1]);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		execl("/proc/self/exe", "cuda-memory", "exports", number, (char *)NULL);
		_exit(1);
	}
	close(pair[1]);
	CHECK(recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC) == 1);
	memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	*ret_peer = pair[0];
	return pid;
}

/* The agent takes a moment to notice that nothing has the memory any more. */
static void wait_until_free(void)
{
	for (int i = 0; i < 1200 && free_bytes() != QUOTA; i++)
		usleep(50000);
	CHECK(free_bytes() == QUOTA);
}

/* While the agent notices the end of a process. */
static void stays_charged(void)
{
	handle other;

	for (int i = 0; i < 200; i++) {
		CHECK(free_bytes() <= QUOTA - 600 * MIB);
		CHECK(cuMemCreate(&other, 600 * MIB, &on_device, 0) == OUT_OF_MEMORY);
		usleep(2000);
	}
}

/* Charged once in the lease, for as long as one of its processes has it. */
void imported_elsewhere(void)
{
	handle piece, other;
	int peer, fd, status;
	pid_t pid = start_exporter(&peer, &fd);
	char word;
	dptr at;

	CHECK(free_bytes() == QUOTA - 600 * MIB);
	OK(cuMemImportFromShareableHandle(&piece, (void *)(intptr_t)fd, 1));
	close(fd);
	OK(cuMemAddressReserve(&at, 600 * MIB, 0, 0, 0));
	OK(cuMemMap(at, 600 * MIB, 0, piece, 0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(write(peer, "r", 1) == 1 && read(peer, &word, 1) == 1);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	CHECK(cuMemCreate(&other, 600 * MIB, &on_device, 0) == OUT_OF_MEMORY);
	/* With its exporter gone it is the lease's, at each moment. */
	CHECK(write(peer, "q", 1) == 1);
	stays_charged();
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	stays_charged();
	OK(cuMemUnmap(at, 600 * MIB));
	stays_charged();
	OK(cuMemRelease(piece));
	wait_until_free();
}

static void end_exporter(pid_t pid, int peer)
{
	int status;
	char word;

	CHECK(write(peer, "r", 1) == 1 && read(peer, &word, 1) == 1);
	CHECK(write(peer, "q", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	close(peer);
	stays_charged();
}

/* The memory's file is all that is left of the process.  Another process in its place
 * exports memory with the same number. */
void outlived(void)
{
	handle piece;
	int peer, fd, own;
	pid_t pid = start_exporter(&peer, &fd);
	dptr at;

	end_exporter(pid, peer);
	OK(cuMemCreate(&piece, 100 * MIB, &on_device, 0));
	OK(cuMemExportToShareableHandle(&own, piece, 1, 0));
	OK(cuMemRelease(piece));
	close(own);
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	/* Imported, it is no more than it was; and lives by the import. */
	OK(cuMemImportFromShareableHandle(&piece, (void *)(intptr_t)fd, 1));
	OK(cuMemAddressReserve(&at, 600 * MIB, 0, 0, 0));
	OK(cuMemMap(at, 600 * MIB, 0, piece, 0));
	CHECK(free_bytes() == QUOTA - 600 * MIB);
	/* What it imported it cannot export again. */
	CHECK(cuMemExportToShareableHandle(&own, piece, 1, 0) != 0);
	close(fd);
	OK(cuMemRelease(piece));
	stays_charged();
	OK(cuMemUnmap(at, 600 * MIB));
	wait_until_free();
}

void arrays(void)
{
	struct {
		size_t width, height;
		int format;
		unsigned channels;
	} flat = {8192, 8192, 0x20, 2};
	struct {
		size_t width, height, depth;
		int format;
		unsigned channels, flags;
	} deep = {512, 512, 512, 0x10, 4, 0};
	handle a, b;

	OK(cuArrayCreate_v2(&a, &flat));
	CHECK(free_bytes() <= QUOTA - 512 * MIB);
	CHECK(cuArray3DCreate_v2(&b, &deep) == OUT_OF_MEMORY);
	OK(cuArrayDestroy(a));
	CHECK(free_bytes() == QUOTA);
	deep.depth = 256;
	OK(cuArray3DCreate_v2(&b, &deep));
	CHECK(free_bytes() <= QUOTA - 512 * MIB);
	OK(cuArrayDestroy(b));
	deep.depth = 0;
	deep.width = deep.height = 4096;
	OK(cuMipmappedArrayCreate(&b, &deep, 4));
	CHECK(free_bytes() < QUOTA - 128 * MIB);
	OK(cuMipmappedArrayDestroy(b));
	CHECK(free_bytes() == QUOTA);
}

/* Allocated when the graph is launched, not when it is captured. */
void graphs(void)
{
	handle stream, graph, exec;
	dptr in_graph, a;

	OK(cuStreamCreate(&stream, 1));
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuMemAllocAsync(&in_graph, 600 * MIB, stream));
	OK(cuMemFreeAsync(in_graph, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(free_bytes() == QUOTA);
	OK(cuMemAlloc_v2(&a, 600 * MIB));
	CHECK(cuGraphLaunch(exec, stream) == OUT_OF_MEMORY);
	OK(cuMemFree_v2(a));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(cuMemAlloc_v2(&a, 600 * MIB) == OUT_OF_MEMORY);
	OK(cuGraphExecDestroy(exec));
}

struct host_node {
	void (*function)(void *userdata);
	void *userdata;
};

int cuGraphHostNodeGetParams(handle node, struct host_node *ret);
int cuGraphExecNodeSetParams(handle exec, handle node, void *params);
int cuGraphExecHostNodeSetParams(
	handle exec, handle node, const struct host_node *params);

#define NOT_PERMITTED 800
#define NODE_OF_HOST 3

static struct call {
	int n, result; /* of the launch in it */
} first_call, other_call;

static handle host_nodes_context, host_nodes_kernel;

static void launch_itself(void *userdata)
{
	uint64_t ns = 1000;
	void *parameters[] = {&ns};
	struct call *call = userdata;

	OK(cuCtxSetCurrent(host_nodes_context));
	call->result = cuLaunchKernel(
		host_nodes_kernel, 1, 1, 1, 32, 1, 1, 0, (handle)2, parameters, NULL);
	call->n++;
}

static void launch_graph(handle exec, struct call *call)
{
	int n = call->n;

	OK(cuGraphLaunch(exec, NULL));
	OK(cuStreamSynchronize(NULL));
	CHECK(call->n == n + 1 && call->result == NOT_PERMITTED);
}

/* CUDA forbids functions of graphs every call.  The program gets its own functions
 * back. */
void host_nodes(void)
{
	struct host_node node = {launch_itself, &first_call},
			 other = {launch_itself, &other_call}, found = {0};
	struct {
		int type, reserved[3];
		struct host_node host;
		uint64_t rest[28];
	} any = {.type = NODE_OF_HOST, .host = other};
	handle graph, exec, added;

	OK(cuCtxGetCurrent(&host_nodes_context));
	host_nodes_kernel = load_spin();
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddHostNode(&added, graph, NULL, 0, &node));
	OK(cuGraphHostNodeGetParams(added, &found));
	CHECK(found.function == launch_itself && found.userdata == &first_call);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	launch_graph(exec, &first_call);
	OK(cuGraphExecHostNodeSetParams(exec, added, &other));
	launch_graph(exec, &other_call);
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddNode(&added, graph, NULL, 0, &any));
	OK(cuGraphHostNodeGetParams(added, &found));
	CHECK(found.userdata == &other_call);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	launch_graph(exec, &other_call);
	any.host = node;
	OK(cuGraphExecNodeSetParams(exec, added, &any));
	launch_graph(exec, &first_call);
}
