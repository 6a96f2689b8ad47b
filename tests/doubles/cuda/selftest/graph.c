/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Tests of graphs and capture. */

struct kernel_params {
	handle f;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	handle kernel, ctx;
};

struct node_params {
	int type, reserved[3];
	union {
		long long room[29];
		struct {
			unsigned char props[88];
			void *access;
			size_t n_access, bytes;
			dptr p;
		} alloc;
		struct {
			uint64_t condition;
			int type;
			unsigned n;
			handle *bodies;
			handle ctx;
		} conditional;
	};
	long long last;
};

static handle stream;

static struct kernel_params params_of(handle f, void **params)
{
	return (struct kernel_params){
		.f = f, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
}

static handle add(handle graph, handle after, const char *name)
{
	struct kernel_params p = params_of(kernel(name), NULL);
	handle node;

	OK(cuGraphAddKernelNode_v2(&node, graph, &after, after != NULL, &p));
	return node;
}

static void start(void)
{
	begin();
	OK(cuStreamCreate(&stream, 1));
}

static void run(handle graph, unsigned long long flags, uint64_t expected_ns)
{
	long long before = stat_of("process", "run_ns");
	handle exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, flags));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphExecDestroy(exec));
	BETWEEN((double)expected_ns, (double)(stat_of("process", "run_ns") - before),
		(double)expected_ns);
}

static void nodes(void)
{
	handle graph, child, a, b, node, found[8];
	size_t n = 8;

	start();
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&child, 0));
	add(child, NULL, "ms1");
	a = add(graph, NULL, "us20");
	b = add(graph, a, "us20");
	OK(cuGraphAddChildGraphNode(&node, graph, &b, 1, child));
	/* A later change of the child does not change the graph. */
	add(child, NULL, "ms1");
	OK(cuGraphGetNodes(graph, found, &n));
	CHECK(n == 3 && found[1] == b);
	n = 8;
	OK(cuGraphGetRootNodes(graph, found, &n));
	CHECK(n == 1 && found[0] == a);
	IS(1, cuGraphAddDependencies(graph, &b, &a, 1));
	run(graph, 0, 1040000);
	CHECK(stat_of("process", "launches") == 3);
}

static void changes(void)
{
	handle graph, other, node, exec;
	uint64_t ns = 1000;
	void *params[] = {&ns};
	struct kernel_params p;
	struct {
		int result;
		handle node, from;
	} info;

	start();
	OK(cuGraphCreate(&graph, 0));
	p = params_of(kernel("spin"), params);
	OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &p));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ns = 5000;
	OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &p));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(stat_of("process", "run_ns") == 5000);
	OK(cuGraphExecUpdate_v2(exec, graph, &info));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(stat_of("process", "run_ns") == 6000);
	OK(cuGraphCreate(&other, 0));
	IS(910, cuGraphExecUpdate_v2(exec, other, &info));
	CHECK(info.result == 2);
}

static void conditions(void)
{
	struct node_params p = {.type = 13};
	handle graph, node;
	uint64_t condition;

	start();
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphConditionalHandleCreate(&condition, graph, NULL, 7, 1));
	p.conditional.condition = condition;
	p.conditional.type = 1;
	p.conditional.n = 1;
	OK(cuGraphAddNode(&node, graph, NULL, 0, &p));
	add(p.conditional.bodies[0], NULL, "us20");
	run(graph, 0, 140000);
}

/* No call shows the launches of a kernel on the device. */
static void relaunched(void)
{
	handle graph;

	start();
	OK(cuGraphCreate(&graph, 0));
	add(graph, NULL, "again");
	run(graph, 4, 4 * 1000);
}

static void memory(void)
{
	struct node_params p = {.type = 10};
	handle graph, node, freed, exec;
	long long before;

	start();
	before = stat_of("gpu 0", "used");
	OK(cuGraphCreate(&graph, 0));
	*(int *)(void *)(p.alloc.props + 8) = 1;
	p.alloc.bytes = 64 << 20;
	OK(cuGraphAddNode(&node, graph, NULL, 0, &p));
	CHECK(p.alloc.p && stat_of("gpu 0", "used") == before);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	CHECK(stat_of("gpu 0", "used") == before + (64 << 20));
	OK(cuMemsetD8_v2(p.alloc.p, 1, 64 << 20));
	IS(1, cuGraphLaunch(exec, stream));
	OK(cuMemFreeAsync(p.alloc.p, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuGraphAddMemFreeNode(&freed, graph, &node, 1, p.alloc.p));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(stat_of("gpu 0", "used") == before + (64 << 20));
	OK(cuDeviceGraphMemTrim(0));
	CHECK(stat_of("gpu 0", "used") == before);
}

static void capture(void)
{
	handle other, fork, join, graph, exec;
	uint32_t seen = 0;
	int status;
	size_t n = 0;
	dptr p;

	start();
	OK(cuStreamCreate(&other, 1));
	OK(cuEventCreate(&fork, 0));
	OK(cuEventCreate(&join, 0));
	OK(cuMemAlloc_v2(&p, 4));
	OK(cuStreamBeginCapture_v2(stream, 1));
	launch(kernel("store"), stream, p, 5);
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	OK(cuStreamIsCapturing(other, &status));
	CHECK(status == 1);
	launch(kernel("ms1"), other, 0, 0);
	launch(kernel("us20"), stream, 0, 0);
	IS(903, cuStreamEndCapture(other, &graph));
	IS(901, cuStreamEndCapture(stream, &graph));
	CHECK(!graph);
	OK(cuStreamBeginCapture_v2(stream, 1));
	launch(kernel("store"), stream, p, 5);
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	launch(kernel("ms1"), other, 0, 0);
	OK(cuEventRecord(join, other));
	launch(kernel("us20"), stream, 0, 0);
	OK(cuStreamWaitEvent(stream, join, 0));
	OK(cuMemcpyDtoHAsync_v2(&seen, p, 4, stream));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, &n));
	CHECK(status == 1 && graph && n == 1);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuStreamIsCapturing(other, &status));
	CHECK(status == 0 && stat_of("process", "launches") == 0);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(seen == 5 && stat_of("process", "run_ns") == 1020000);
}

static void unjoined(void)
{
	handle other, fork, graph;

	start();
	OK(cuStreamCreate(&other, 1));
	OK(cuEventCreate(&fork, 0));
	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuEventRecord(fork, stream));
	IS(907, cuEventQuery(fork));
	IS(901, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	launch(kernel("us20"), other, 0, 0);
	IS(904, cuStreamEndCapture(stream, &graph));
	OK(cuEventRecord(fork, other));
	OK(cuStreamBeginCapture_v2(stream, 2));
	IS(905, cuStreamWaitEvent(stream, fork, 0));
	IS(901, cuStreamEndCapture(stream, &graph));
	IS(401, cuStreamEndCapture(stream, &graph));
}

static void forbidden(void)
{
	handle graph, blocking;
	int mode = 2, status;
	dptr p;

	start();
	OK(cuStreamBeginCapture_v2(stream, 0));
	IS(900, cuStreamSynchronize(stream));
	OK(cuStreamIsCapturing(stream, &status));
	CHECK(status == 2);
	IS(901, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture_v2(stream, 0));
	IS(900, cuMemAlloc_v2(&p, 4));
	IS(901, cuStreamEndCapture(stream, &graph));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(mode == 0);
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuMemAlloc_v2(&p, 4));
	OK(cuStreamEndCapture(stream, &graph));
	IS(900, cuStreamBeginCapture_v2(NULL, 0));
	OK(cuStreamCreate(&blocking, 0));
	OK(cuStreamBeginCapture_v2(blocking, 2));
	IS(906, cuMemsetD8_v2(p, 0, 4));
	IS(901, cuStreamEndCapture(blocking, &graph));
	OK(cuMemsetD8_v2(p, 0, 4));
}

static int n_destroyed;

static void destroyed(void *user)
{
	n_destroyed++;
}

static void parameters(void)
{
	struct {
		dptr dst;
		size_t pitch;
		uint32_t value, element;
		size_t width, height;
	} set = {0, 0, 3, 1, 4, 1}, back;
	handle graph, node, exec, record, a, b, object;
	unsigned char seen[4];

	start();
	OK(cuMemAlloc_v2(&set.dst, 4));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, NULL));
	set.value = 9;
	OK(cuGraphMemsetNodeSetParams(node, &set));
	OK(cuGraphMemsetNodeGetParams(node, &back));
	CHECK(back.value == 9 && back.dst == set.dst);
	set.dst = 0x1000000000;
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	OK(cuGraphAddEventRecordNode(&record, graph, &node, 1, a));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphExecEventRecordNodeSetEvent(exec, record, b));
	OK(cuEventRecord(a, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuEventSynchronize(b));
	OK(cuMemcpyDtoH_v2(seen, back.dst, 4));
	CHECK(seen[0] == 9 && seen[3] == 9);
	OK(cuUserObjectCreate(&object, NULL, destroyed, 1, 1));
	OK(cuGraphRetainUserObject(graph, object, 1, 0));
	OK(cuUserObjectRelease(object, 1));
	CHECK(n_destroyed == 0);
	OK(cuUserObjectRelease(object, 1));
	CHECK(n_destroyed == 1);
}

/* Waits for semaphores, added and captured, and with another value later. */
static void semaphores(void)
{
	struct {
		int type;
		int pad;
		long long fd, more;
		uint32_t flags, reserved[16];
	} desc = {.type = 9};
	struct {
		unsigned long long value;
		uint32_t more[34];
	} until = {.value = 1};
	struct {
		handle *all;
		void *values;
		unsigned n;
	} p, back;
	handle semaphore, graph, node, exec, captured, other;
	volatile uint64_t *value;

	start();
	desc.fd = memfd_create("semaphore", 0);
	CHECK(ftruncate((int)desc.fd, 4096) == 0);
	value = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)desc.fd, 0);
	OK(cuImportExternalSemaphore(&semaphore, &desc));
	p.all = &semaphore;
	p.values = &until;
	p.n = 1;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &p));
	OK(cuGraphExternalSemaphoresWaitNodeGetParams(node, &back));
	CHECK(back.n == 1 && back.all[0] == semaphore);
	add(graph, node, "us20");
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	until.value = 2;
	OK(cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, node, &p));
	OK(cuGraphLaunch(exec, stream));
	*value = 1;
	sleep_ms(5);
	IS(600, cuStreamQuery(stream));
	*value = 2;
	OK(cuStreamSynchronize(stream));
	OK(cuStreamBeginCapture_v2(stream, 2));
	until.value = 3;
	OK(cuWaitExternalSemaphoresAsync(&semaphore, &until, 1, stream));
	OK(cuStreamEndCapture(stream, &captured));
	OK(cuGraphInstantiateWithFlags(&other, captured, 0));
	OK(cuGraphLaunch(other, stream));
	sleep_ms(5);
	IS(600, cuStreamQuery(stream));
	*value = 3;
	OK(cuStreamSynchronize(stream));
}

const struct case_of_test graph_cases[] = {
	{"graph-nodes", nodes, NULL, NULL},
	{"graph-changes", changes, NULL, NULL},
	{"graph-conditions", conditions, NULL, NULL},
	{"graph-relaunched", relaunched, NULL, NULL},
	{"graph-memory", memory, NULL, NULL},
	{"graph-parameters", parameters, NULL, NULL},
	{"graph-semaphores", semaphores, NULL, NULL},
	{"capture", capture, NULL, NULL},
	{"capture-unjoined", unjoined, NULL, NULL},
	{"capture-forbidden", forbidden, NULL, NULL},
	{0},
};
