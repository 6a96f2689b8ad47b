/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the ledger may take for freed: freed behind work that does not end, in
 * graphs, in captures, by other handles. */
#include "cuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

int cuImportExternalMemory(handle *memory, const void *description);
int cuGraphUpload(handle exec, handle stream);

static uint32_t *gate_word;

/* A blocked stream. */
static handle held_stream(void)
{
	handle stream = new_stream();
	void *memory;

	OK(cuMemHostAlloc(&memory, 4096, 0));
	gate_word = memory;
	OK(cuStreamWaitValue32_v2(stream, (dptr)(uintptr_t)memory, 1, 1));
	return stream;
}

/* Memory freed in stream order exists until the stream reaches the free. */
static int freed_in_held_stream(void)
{
	static handle stream;
	dptr piece;
	int r;

	if (!stream)
		stream = held_stream();
	r = cuMemAlloc_v2(&piece, PIECE_BYTES);
	return r ? r : cuMemFreeAsync(piece, stream);
}

/* In a capture the free becomes a node of a graph that is never launched. */
static int freed_in_capture(void)
{
	static handle stream;
	handle graph;
	dptr piece;
	int r;

	if (!stream)
		stream = new_stream();
	r = cuMemAlloc_v2(&piece, PIECE_BYTES);
	if (r)
		return r;
	OK(cuStreamBeginCapture_v2(stream, 2));
	cuMemFreeAsync(piece, stream);
	cuStreamEndCapture(stream, &graph);
	return 0;
}

static int pooled_in_held_stream(void)
{
	static handle stream;
	dptr piece;
	int r;

	if (!stream)
		stream = held_stream();
	r = cuMemAllocAsync(&piece, PIECE_BYTES, stream);
	return r ? r : cuMemFreeAsync(piece, stream);
}

static handle capture_allocation(handle stream, bool is_freed)
{
	handle graph, exec;
	dptr piece;

	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuMemAllocAsync(&piece, PIECE_BYTES, stream));
	if (is_freed)
		OK(cuMemFreeAsync(piece, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static int graph_nodes(void)
{
	static handle stream;

	if (!stream)
		stream = new_stream();
	return cuGraphLaunch(capture_allocation(stream, false), stream);
}

static int graph_uploaded(void)
{
	static handle stream;
	handle exec;

	if (!stream)
		stream = new_stream();
	exec = capture_allocation(stream, false);
	OK(cuGraphUpload(exec, stream));
	return cuGraphLaunch(exec, stream);
}

/* Deeply nested child graphs. */
static int graph_nested(void)
{
	static handle stream;
	handle graph, outer, node, exec;
	dptr piece;

	if (!stream)
		stream = new_stream();
	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(cuMemAllocAsync(&piece, PIECE_BYTES, stream));
	OK(cuStreamEndCapture(stream, &graph));
	for (int depth = 0; depth < 20; depth++) {
		OK(cuGraphCreate(&outer, 0));
		OK(cuGraphAddChildGraphNode(&node, outer, NULL, 0, graph));
		graph = outer;
	}
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return cuGraphLaunch(exec, stream);
}

/* While another stream is captured. */
static int beside_capture(void)
{
	static handle captured;
	dptr piece;

	if (!captured) {
		captured = new_stream();
		OK(cuStreamBeginCapture_v2(captured, 2));
	}
	return cuMemAllocAsync(&piece, PIECE_BYTES, NULL);
}

/* The same with a blocking stream, for which the default stream waits. */
static int beside_blocking_capture(void)
{
	static handle captured;
	dptr piece;

	if (!captured) {
		OK(cuStreamCreate(&captured, 0));
		OK(cuStreamBeginCapture_v2(captured, 2));
	}
	return cuMemAllocAsync(&piece, PIECE_BYTES, NULL);
}

struct external {
	int type;
	union {
		int fd;
		void *two[2];
	} handle;
	unsigned long long bytes;
	uint32_t rest[17];
};

static int external(void)
{
	struct external of_file = {.type = 1, .bytes = PIECE_BYTES};
	handle memory;

	of_file.handle.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return cuImportExternalMemory(&memory, &of_file);
}

/* Memory freed by the calls of other kinds of memory. */
static int freed_as_another_kind(void)
{
	static handle pool;
	dptr piece;
	int r = cuMemAlloc_v2(&piece, PIECE_BYTES);

	if (r)
		return r;
	cuMemFreeAsync(piece + 512, NULL);
	cuMemUnmap(piece, PIECE_BYTES);
	cuIpcCloseMemHandle(piece);
	if (!pool)
		OK(cuDeviceGetDefaultMemPool(&pool, 0));
	cuMemPoolTrimTo(pool, 0);
	cuMemPoolDestroy(pool);
	return 0;
}

/* A reference to the primary context is released, but not the last one, so the memory
 * stays. */
static int retained_primary(void)
{
	handle context;
	int r = take_plain();

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return r;
}

static int freed_twice(void)
{
	dptr piece, more;
	int r = cuMemAlloc_v2(&piece, PIECE_BYTES);

	if (r)
		return r;
	OK(cuMemFree_v2(piece));
	OK(cuMemAlloc_v2(&more, PIECE_BYTES));
	if (piece != more)
		cuMemFree_v2(piece);
	return 0;
}

const struct taking way_kept_pieces[] = {
	{"freed-behind-work", freed_in_held_stream},
	{"freed-in-capture", freed_in_capture},
	{"pooled-behind-work", pooled_in_held_stream},
	{"graph-nodes", graph_nodes},
	{"graph-uploaded", graph_uploaded},
	{"graph-nested", graph_nested},
	{"beside-capture", beside_capture},
	{"beside-blocking-capture", beside_blocking_capture},
	{"external", external},
	{"freed-as-another", freed_as_another_kind},
	{"retained-primary", retained_primary},
	{"freed-twice", freed_twice},
	{NULL, NULL},
};

/* --- Several threads --- */

static void *take_in_thread(void *userdata)
{
	size_t n = 0;
	dptr piece;
	int r = 0;

	OK(cuCtxSetCurrent(userdata));
	/* Two requests that race may both be refused, so each is tried again. */
	for (int refused = 0; refused < 20 && n < PIECES_MAX;) {
		r = n % 2 ? cuMemAllocAsync(&piece, PIECE_BYTES, NULL) : take_plain();
		if (r)
			refused++;
		else
			n++;
	}
	way_say("got %zu code %d\n", n * PIECE_BYTES, r);
	return NULL;
}

static int threads(char **arguments)
{
	pthread_t all[8];
	handle context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, take_in_thread, context);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	way_stay();
	return 0;
}

static pthread_barrier_t together;

static void *launch_graph(void *userdata)
{
	void **both = userdata;
	handle stream;
	int r;

	OK(cuCtxSetCurrent(both[0]));
	stream = new_stream();
	pthread_barrier_wait(&together);
	r = cuGraphLaunch(both[1], stream);
	way_say("got %zu code %d\n", r ? 0 : PIECE_BYTES, r);
	return NULL;
}

/* Graphs launched at once, all of which find the same free room in the graphs' pool. */
static int graph_threads(char **arguments)
{
	void *both[PIECES_MAX][2];
	pthread_t all[PIECES_MAX];
	handle stream, first, context;

	gpu_open();
	stream = new_stream();
	OK(cuCtxGetCurrent(&context));
	first = capture_allocation(stream, true);
	OK(cuGraphLaunch(first, stream));
	OK(cuStreamSynchronize(stream));
	pthread_barrier_init(&together, NULL, PIECES_MAX);
	for (int i = 0; i < PIECES_MAX; i++) {
		both[i][0] = context;
		both[i][1] = capture_allocation(stream, false);
	}
	for (int i = 0; i < PIECES_MAX; i++)
		pthread_create(&all[i], NULL, launch_graph, both[i]);
	for (int i = 0; i < PIECES_MAX; i++)
		pthread_join(all[i], NULL);
	way_stay();
	return 0;
}

/* Sizes at which a sum of bytes overflows. */
static int wrapped_sizes(char **arguments)
{
	static const size_t sizes[] = {
		SIZE_MAX, SIZE_MAX - PIECE_BYTES, SIZE_MAX / 2 + 1};
	size_t pitch;
	dptr piece;

	gpu_open();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cuMemAlloc_v2(&piece, sizes[i]);
		cuMemAllocManaged(&piece, sizes[i], 1);
		cuMemAllocAsync(&piece, sizes[i], NULL);
		cuMemAllocPitch_v2(&piece, &pitch, sizes[i], 2, 4);
	}
	take(take_plain);
	way_stay();
	return 0;
}

/* Contexts that end with memory in them, and then all memory that is left. */
static int ended_context(char **arguments)
{
	handle context;

	gpu_open();
	for (int i = 0; i < 20; i++) {
		OK(cuCtxCreate_v2(&context, 0, 0));
		OK(take_plain());
		OK(take_plain());
		OK(cuCtxDestroy_v2(context));
	}
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	take(take_plain);
	way_stay();
	return 0;
}

/* Memory that is freed as often as allocated must not be refused in the end (HAMi-core
 * 96). */
static int pool_again_and_again(char **arguments)
{
	handle stream;
	dptr piece;

	gpu_open();
	stream = new_stream();
	for (int i = 0; i < 1000; i++) {
		OK(cuMemAllocAsync(&piece, 4 * PIECE_BYTES, stream));
		OK(cuMemFreeAsync(piece, stream));
		if (i % 10 == 0)
			OK(cuStreamSynchronize(stream));
	}
	OK(cuStreamSynchronize(stream));
	take(take_plain);
	way_stay();
	return 0;
}

const struct way way_memory[] = {
	{"memory-threads", threads},
	{"graph-threads", graph_threads},
	{"wrapped-sizes", wrapped_sizes},
	{"ended-contexts", ended_context},
	{"pool-again-and-again", pool_again_and_again},
	{NULL, NULL},
};
