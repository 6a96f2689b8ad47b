/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose streams wait for a signal from outside, which is given after work of
 * another stream. CUDA's structures as its header has them. */
#include "pattern.h"

#include <sys/mman.h>
#include <unistd.h>

struct semaphore_handle {
	int type; /* 9: a timeline semaphore */
	union {
		int fd;
		void *two[2];
	} handle;
	uint32_t flags, reserved[16];
};

#ifndef ROCM
struct semaphore_value {
	unsigned long long value;
	uint32_t more[34];
};

struct semaphores {
	handle *all;
	struct semaphore_value *values;
	unsigned n;
};

struct ipc_event {
	char bytes[64];
};

int cuIpcGetEventHandle(struct ipc_event *ret, handle event);
int cuIpcOpenEventHandle(handle *event, struct ipc_event bytes);
#else
#define ipc_event ipc
#endif

static handle import_semaphore(volatile uint64_t **ret_value)
{
	struct semaphore_handle desc = {.type = 9};
	handle semaphore;

	desc.handle.fd = memfd_create("semaphore", 0);
	if (ftruncate(desc.handle.fd, 4096) < 0)
		exit(1);
	*ret_value =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, desc.handle.fd, 0);
	OK(cuImportExternalSemaphore(&semaphore, &desc));
	return semaphore;
}

/* Signals the waiting stream after work of another stream is complete. */
static void let_go(handle waiting, handle other, volatile uint64_t *value, uint64_t to)
{
	sleep_ms(STANDS_MS);
	run(other, 1000000);
	OK(cuStreamSynchronize(other));
	*value = to;
	OK(cuStreamSynchronize(waiting));
}

uint32_t external_semaphore(void)
{
	handle waiting = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);
	volatile uint64_t *value;
	handle semaphore = import_semaphore(&value);

	for (uint32_t i = 1; i <= 2; i++) {
		struct semaphore_value until = {.value = i};

		OK(cuWaitExternalSemaphoresAsync(&semaphore, &until, 1, waiting));
		store(waiting, word(1), i);
		let_go(waiting, other, value, i);
	}
	return words[1];
}

#ifdef HAS_SEMAPHORES_IN_GRAPHS
/* A graph that writes the value to the word. */
static handle graph_of_store(dptr at, uint32_t value)
{
	handle stream = new_stream(NON_BLOCKING), graph;

	OK(cuStreamBeginCapture_v2(stream, 2));
	store(stream, at, value);
	OK(cuStreamEndCapture(stream, &graph));
	return graph;
}

static handle executable(handle graph)
{
	handle exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

/* A graph begins with the wait. */
uint32_t graph_of_semaphore(void)
{
	handle waiting = new_stream(NON_BLOCKING), other = new_stream(NON_BLOCKING);
	handle graph, wait, then, exec;
	volatile uint64_t *value;
	handle semaphore = import_semaphore(&value);
	struct semaphore_value until = {.value = 1};
	struct semaphores waits = {&semaphore, &until, 1};

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddExternalSemaphoresWaitNode(&wait, graph, NULL, 0, &waits));
	OK(cuGraphAddChildGraphNode(&then, graph, &wait, 1, graph_of_store(word(1), 2)));
	exec = executable(graph);
	OK(cuGraphLaunch(exec, waiting));
	let_go(waiting, other, value, 1);
	until.value = 2;
	OK(cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, wait, &waits));
	OK(cuGraphLaunch(exec, waiting));
	let_go(waiting, other, value, 2);
	return words[1];
}

#ifndef ROCM
/* A node of the graph beside the wait node signals the program, which then ends the
 * wait. */
uint32_t graph_beside_wait(void)
{
	handle waiting = new_stream(NON_BLOCKING), graph, wait, beside, then, exec;
	volatile uint64_t *value;
	handle semaphore = import_semaphore(&value);
	struct semaphore_value until = {.value = 1};
	struct semaphores waits = {&semaphore, &until, 1};

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddExternalSemaphoresWaitNode(&wait, graph, NULL, 0, &waits));
	OK(cuGraphAddChildGraphNode(&then, graph, &wait, 1, graph_of_store(word(1), 2)));
	OK(cuGraphAddChildGraphNode(&beside, graph, NULL, 0, graph_of_store(word(0), 1)));
	exec = executable(graph);
	OK(cuGraphLaunch(exec, waiting));
	while (words[0] != 1)
		sleep_ms(0);
	*value = 1;
	OK(cuStreamSynchronize(waiting));
	return words[1];
}
#endif
#endif

/* The other process, which has its own stream and does not share this process's words. */
static void record_for_parent(int from, int to)
{
	struct ipc_event bytes;
	handle event, stream;
	char go;

	begin();
	stream = new_stream(NON_BLOCKING);
	OK(cuEventCreate(&event, 2 | 4)); /* without timing, for several processes */
	OK(cuIpcGetEventHandle(&bytes, event));
	for (uint32_t i = 1; i <= 2; i++) {
		OK(cuStreamWaitValue32_v2(stream, word(0), i, 0));
		OK(cuEventRecord(event, stream));
		if (write(to, &bytes, sizeof(bytes)) != sizeof(bytes) ||
			read(from, &go, 1) != 1)
			break;
		words[0] = i;
		OK(cuStreamSynchronize(stream));
	}
	exit(0);
}

uint32_t event_of_another(void)
{
	handle waiting, other, event = NULL;
	int down[2], up[2];
	struct ipc_event bytes;

	if (pipe(down) < 0 || pipe(up) < 0)
		return 0;
	if (fork() == 0)
		record_for_parent(down[0], up[1]);
	begin();
	waiting = new_stream(NON_BLOCKING);
	other = new_stream(NON_BLOCKING);
	for (uint32_t i = 1; i <= 2; i++) {
		if (read(up[0], &bytes, sizeof(bytes)) != sizeof(bytes))
			return 0;
		if (!event)
			OK(cuIpcOpenEventHandle(&event, bytes));
		OK(cuStreamWaitEvent(waiting, event, 0));
		store(waiting, word(1), i);
		sleep_ms(STANDS_MS);
		run(other, 1000000);
		OK(cuStreamSynchronize(other));
		if (write(down[1], "g", 1) != 1)
			return 0;
		OK(cuStreamSynchronize(waiting));
	}
	return words[1];
}
