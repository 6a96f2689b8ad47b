/* SPDX-License-Identifier: Apache-2.0 */
/* Correct programs whose queues, host threads and processes wait for each other, each of
 * which ends on an unshared device: a gate between them and the driver must not close a
 * cycle of waits. Some wait by events alone, and so end on any device; kernels of others
 * poll a word of memory, which takes a device that runs kernels of two queues
 * concurrently and a host that sees what they write.
 *
 * usage: opencl-patterns		the names
 *        opencl-patterns events	those that any device ends
 *        opencl-patterns NAME		runs one; "done N" with its result, then
 * 					stays until its input ends
 *        opencl-patterns competitor	keeps the device busy until its input ends */
#include "program.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define N_ROUNDS 12
#define N_WORDS 64
#define ALWAYS (N_WORDS - 1) /* a word that is 0, for waits that end at once */
#define OUT_OF_ORDER CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE

static const char relay_source[] = "__kernel void relay(__global volatile uint *words, "
				   "uint at, uint value, uint out,\n"
				   "	uint out_value) {\n"
				   "	while ((int)(words[at] - value) < 0)\n"
				   "		;\n"
				   "	words[out] = out_value;\n"
				   "}\n";

/* The words that the device, the host and the children of this process share. */
static volatile uint32_t *words;

/* A context with the words. */
struct place {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem words;
};
static struct place here;

static struct place open_place(cl_context in)
{
	const char *text = relay_source;
	struct place place = {.context = in};
	cl_int r;

	place.program = clCreateProgramWithSource(in, 1, &text, NULL, &r);
	CHECK(r);
	CHECK(clBuildProgram(place.program, 1, &device, "", NULL, NULL));
	place.words = clCreateBuffer(in, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
		N_WORDS * sizeof(uint32_t), (void *)(uintptr_t)words, &r);
	CHECK(r);
	return place;
}

static void share_words(void)
{
	void *p = mmap(
		NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED);
	words = p;
}

static void begin(void)
{
	open_device();
	here = open_place(context);
}

static void await_on_host(uint32_t at, uint32_t value)
{
	while (words[at] < value)
		usleep(200);
}

/* Submits a kernel that waits until a word has a value, and then writes another word. */
static void relay_at(struct place *place, cl_command_queue queue, cl_uint at,
	cl_uint value, cl_uint out, cl_uint out_value, cl_event *event)
{
	const cl_uint numbers[] = {at, value, out, out_value};
	size_t one = 1;
	cl_int r;
	cl_kernel kernel = clCreateKernel(place->program, "relay", &r);

	CHECK(r);
	CHECK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &place->words));
	for (cl_uint i = 0; i < 4; i++)
		CHECK(clSetKernelArg(kernel, i + 1, sizeof(cl_uint), &numbers[i]));
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, event));
	CHECK(clReleaseKernel(kernel));
	CHECK(clFlush(queue));
}

static void relay(
	cl_command_queue queue, cl_uint at, cl_uint value, cl_uint out, cl_uint out_value)
{
	relay_at(&here, queue, at, value, out, out_value, NULL);
}

static void store(cl_command_queue queue, cl_uint at, cl_uint value)
{
	relay(queue, ALWAYS, 0, at, value);
}

static void release(cl_event *events, int n)
{
	for (int i = 0; i < n; i++)
		CHECK(clReleaseEvent(events[i]));
}

/* Sets the user event when the other event is complete. */
static void CL_CALLBACK set_event(cl_event event, cl_int status, void *userdata)
{
	CHECK(clSetUserEventStatus(userdata, CL_COMPLETE));
}

static pthread_t start_thread(void *(*function)(void *), void *userdata)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, function, userdata) == 0);
	return thread;
}

/* Patterns by events alone. ----------------------------------------------------- */

/* Each command waits for two before it, except for the first ones of a path. */
static uint32_t graph(void)
{
	enum { N = 24 };
	cl_command_queue queue = open_queue(OUT_OF_ORDER);
	cl_event events[N];

	for (int i = 0; i < N_ROUNDS; i++) {
		for (int k = 0; k < N; k++) {
			cl_event before[2] = {events[k / 2], events[k > 0 ? k - 1 : 0]};
			cl_uint n = k % 4 == 0 ? 0 : 2;

			if (k % 8 == 7)
				CHECK(clEnqueueMarkerWithWaitList(
					queue, (cl_uint)k, events, &events[k]));
			else if (k % 8 == 5)
				CHECK(clEnqueueBarrierWithWaitList(
					queue, 2, before, &events[k]));
			else
				launch(queue, 100, n, n ? before : NULL, &events[k]);
		}
		CHECK(clFlush(queue));
		CHECK(clWaitForEvents(1, &events[N - 1]));
		EXPECT(status_of(events[0]) == CL_COMPLETE);
		release(events, N);
	}
	CHECK(clFinish(queue));
	return N_ROUNDS;
}

/* A ring of queues, flushed in reverse order. */
static uint32_t unflushed(void)
{
	enum { N = 4, N_LINKS = 16 };
	cl_command_queue queues[N];
	cl_event events[N_LINKS];

	for (int q = 0; q < N; q++)
		queues[q] = open_queue(q % 2 ? OUT_OF_ORDER : 0);
	for (int i = 0; i < N_ROUNDS; i++) {
		for (int k = 0; k < N_LINKS; k++)
			launch(queues[k % N], 100, k > 0, k > 0 ? &events[k - 1] : NULL,
				&events[k]);
		for (int q = N; q-- > 0;)
			CHECK(clFlush(queues[q]));
		CHECK(clWaitForEvents(1, &events[N_LINKS - 1]));
		release(events, N_LINKS);
	}
	return N_ROUNDS;
}

static uint32_t ping_pong(void)
{
	enum { N = 4, N_LINKS = 200 };
	cl_command_queue queues[N];
	static cl_event events[N_LINKS];

	for (int q = 0; q < N; q++)
		queues[q] = open_queue(0);
	for (int k = 0; k < N_LINKS; k++) {
		launch(queues[k % N], 100, k > 0, k > 0 ? &events[k - 1] : NULL,
			&events[k]);
		CHECK(clFlush(queues[k % N]));
	}
	CHECK(clFinish(queues[(N_LINKS - 1) % N]));
	release(events, N_LINKS);
	return N_LINKS;
}

/* The host sets an event after it has submitted, and waited for, other commands. */
static uint32_t set_late(void)
{
	cl_command_queue behind = open_queue(0), further = open_queue(OUT_OF_ORDER),
			 free = open_queue(0);

	for (int i = 0; i < N_ROUNDS; i++) {
		cl_event gate = user_event(), first, last;

		launch(behind, 100, 1, &gate, &first);
		launch(further, 100, 1, &first, &last);
		for (int k = 0; k < 30; k++)
			launch(free, 100, 0, NULL, NULL);
		CHECK(clFinish(free));
		for (int k = 0; k < 10; k++)
			launch(behind, 100, 0, NULL, NULL);
		CHECK(clFlush(behind));
		CHECK(clFlush(further));
		EXPECT(status_of(last) > CL_COMPLETE);
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(further));
		release((cl_event[]){gate, first, last}, 3);
	}
	CHECK(clFinish(behind));
	return N_ROUNDS;
}

/* The callback of each link releases the next; the last link is submitted first. */
static uint32_t callbacks(void)
{
	enum { N = 8 };
	cl_command_queue queues[N];
	cl_event gates[N + 1], ends[N];

	for (int q = 0; q < N; q++)
		queues[q] = open_queue(0);
	for (int i = 0; i < N_ROUNDS; i++) {
		for (int k = 0; k <= N; k++)
			gates[k] = user_event();
		for (int k = N; k-- > 0;) {
			launch(queues[k], 100, 1, &gates[k], &ends[k]);
			CHECK(clSetEventCallback(
				ends[k], CL_COMPLETE, set_event, gates[k + 1]));
			CHECK(clFlush(queues[k]));
		}
		CHECK(clSetUserEventStatus(gates[0], CL_COMPLETE));
		CHECK(clWaitForEvents(1, &gates[N]));
		release(gates, N + 1);
		release(ends, N);
	}
	return N_ROUNDS;
}

static uint32_t barriers(void)
{
	cl_command_queue a = open_queue(OUT_OF_ORDER), b = open_queue(OUT_OF_ORDER);

	for (int i = 0; i < N_ROUNDS; i++) {
		cl_event gate = user_event(), before, behind, mark, last;

		launch(a, 100, 0, NULL, &before);
		CHECK(clEnqueueBarrierWithWaitList(a, 1, &gate, NULL));
		launch(a, 100, 0, NULL, &behind);
		CHECK(clEnqueueMarkerWithWaitList(b, 1, &behind, &mark));
		launch(b, 100, 0, NULL, NULL);
		CHECK(clEnqueueBarrierWithWaitList(b, 1, &mark, NULL));
		launch(b, 100, 0, NULL, &last);
		CHECK(clFlush(b));
		CHECK(clFlush(a));
		CHECK(clWaitForEvents(1, &before));
		for (int k = 0; k < 20; k++)
			launch(a, 100, 0, NULL, NULL);
		EXPECT(status_of(last) > CL_COMPLETE);
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(b));
		release((cl_event[]){gate, before, behind, mark, last}, 5);
	}
	CHECK(clFinish(a));
	return N_ROUNDS;
}

/* More commands than any window has room for, behind an event, before and among
 * others. */
static uint32_t many_behind(void)
{
	enum { N = 300 };
	cl_command_queue queue = open_queue(OUT_OF_ORDER);
	cl_event gate = user_event(), free[N], held;

	for (int k = 0; k < N; k++) {
		launch(queue, 50, 1, &gate, k == N - 1 ? &held : NULL);
		launch(queue, 50, 0, NULL, &free[k]);
	}
	CHECK(clFlush(queue));
	CHECK(clWaitForEvents(N, free));
	EXPECT(status_of(held) > CL_COMPLETE);
	CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
	CHECK(clFinish(queue));
	EXPECT(status_of(held) == CL_COMPLETE);
	return N;
}

static void *map_behind(void *userdata)
{
	cl_command_queue queue = open_queue(0);
	char bytes[16];
	void *p;
	cl_int r;
	cl_event event = userdata;

	p = clEnqueueMapBuffer(
		queue, here.words, CL_TRUE, CL_MAP_READ, 0, 16, 1, &event, NULL, &r);
	CHECK(r);
	CHECK(clEnqueueUnmapMemObject(queue, here.words, p, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(
		queue, here.words, CL_TRUE, 0, sizeof(bytes), bytes, 1, &event, NULL));
	CHECK(clReleaseCommandQueue(queue));
	return NULL;
}

/* A thread is inside a blocking call until another submits, flushes and sets. */
static uint32_t blocking(void)
{
	cl_command_queue queue = open_queue(0), other = open_queue(0);

	for (int i = 0; i < N_ROUNDS; i++) {
		cl_event gate = user_event(), end;
		pthread_t thread;

		launch(queue, 100, 1, &gate, &end);
		thread = start_thread(map_behind, end);
		usleep(5000);
		for (int k = 0; k < 20; k++) {
			launch(queue, 100, 0, NULL, NULL);
			launch(other, 100, 0, NULL, NULL);
		}
		CHECK(clFlush(queue));
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		pthread_join(thread, NULL);
		release((cl_event[]){gate, end}, 2);
	}
	CHECK(clFinish(queue));
	CHECK(clFinish(other));
	return N_ROUNDS;
}

/* A thread and a queue for each link, the last one first. */
#define N_THREADS 16
static struct {
	cl_event gates[N_THREADS + 1];
	pthread_barrier_t all_submitted;
} chain;

static void *link_of_chain(void *userdata)
{
	uintptr_t k = (uintptr_t)userdata;
	cl_command_queue queue = open_queue(k % 2 ? OUT_OF_ORDER : 0);
	cl_event end;

	launch(queue, 100, 1, &chain.gates[k], &end);
	CHECK(clSetEventCallback(end, CL_COMPLETE, set_event, chain.gates[k + 1]));
	CHECK(clFlush(queue));
	pthread_barrier_wait(&chain.all_submitted);
	for (int i = 0; k == 0 && i < 20; i++)
		launch(queue, 100, 0, NULL, NULL);
	if (k == 0)
		CHECK(clSetUserEventStatus(chain.gates[0], CL_COMPLETE));
	CHECK(clFinish(queue));
	return NULL;
}

static uint32_t threads(void)
{
	pthread_t all[N_THREADS];

	pthread_barrier_init(&chain.all_submitted, NULL, N_THREADS);
	for (int k = 0; k <= N_THREADS; k++)
		chain.gates[k] = user_event();
	for (uintptr_t k = N_THREADS; k-- > 0;)
		all[k] = start_thread(link_of_chain, (void *)k);
	for (int k = 0; k < N_THREADS; k++)
		pthread_join(all[k], NULL);
	CHECK(clWaitForEvents(1, &chain.gates[N_THREADS]));
	return N_THREADS;
}

/* Callbacks of one context set the events of the other, and vice versa. */
static uint32_t two_contexts(void)
{
	enum { N = 20 };
	cl_int r;
	cl_context contexts[2] = {
		context, clCreateContext(NULL, 1, &device, NULL, NULL, &r)};
	cl_event gates[N + 1], ends[N];
	cl_command_queue queues[2];
	const char *text = source;
	cl_program programs[2] = {program, NULL};

	CHECK(r);
	programs[1] = clCreateProgramWithSource(contexts[1], 1, &text, NULL, &r);
	CHECK(r);
	CHECK(clBuildProgram(programs[1], 1, &device, "", NULL, NULL));
	for (int q = 0; q < 2; q++) {
		context = contexts[q];
		queues[q] = open_queue(OUT_OF_ORDER);
	}
	for (int k = 0; k <= N; k++) {
		context = contexts[k % 2];
		gates[k] = user_event();
	}
	for (int k = N; k-- > 0;) {
		program = programs[k % 2];
		launch(queues[k % 2], 200, 1, &gates[k], &ends[k]);
		CHECK(clSetEventCallback(ends[k], CL_COMPLETE, set_event, gates[k + 1]));
		CHECK(clFlush(queues[k % 2]));
	}
	CHECK(clSetUserEventStatus(gates[0], CL_COMPLETE));
	CHECK(clWaitForEvents(1, &gates[N]));
	return N;
}

struct native {
	uint32_t at, value, out, out_value;
};

static void CL_CALLBACK relay_natively(void *userdata)
{
	const struct native *native = userdata;

	await_on_host(native->at, native->value);
	words[native->out] = native->out_value;
}

static void submit_native(cl_command_queue queue, struct native native)
{
	CHECK(clEnqueueNativeKernel(queue, relay_natively, &native, sizeof(native), 0,
		NULL, NULL, 0, NULL, NULL));
	CHECK(clFlush(queue));
}

/* A native kernel makes the host release another queue. */
static uint32_t native_signals(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		cl_event gate = user_event(), end;

		launch(b, 100, 1, &gate, &end);
		CHECK(clFlush(b));
		submit_native(a, (struct native){ALWAYS, 0, 0, i});
		await_on_host(0, i);
		launch(a, 100, 1, &end, NULL);
		CHECK(clFlush(a));
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(a));
		release((cl_event[]){gate, end}, 2);
	}
	return words[0];
}

/* The commands behind a kernel in its own queue, and beside it in another, are submitted
 * before the host releases the kernel. */
static uint32_t native_awaits(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(OUT_OF_ORDER);

	for (uint32_t i = 1; i <= 3; i++) {
		submit_native(a, (struct native){0, i, 1, i});
		for (int k = 0; k < 20; k++)
			launch(a, 1000, 0, NULL, NULL);
		for (int k = 0; k < 20; k++)
			launch(b, 100, 0, NULL, NULL);
		CHECK(clFlush(b));
		words[0] = i;
		CHECK(clFinish(a));
		CHECK(clFinish(b));
	}
	return words[1];
}

/* The child initializes OpenCL itself: it is forked before the parent does. Returns
 * whether it succeeded. */
static int run_beside(void (*run_child)(void), void (*run_parent)(void))
{
	pid_t child = fork();
	int status;

	begin();
	if (child == 0) {
		run_child();
		_exit(0);
	}
	run_parent();
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Two processes alternate. */
static void take_turns(cl_uint at, cl_uint out, uint32_t ahead)
{
	cl_command_queue queue = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		await_on_host(at, i - ahead);
		launch(queue, 1000, 0, NULL, NULL);
		CHECK(clFinish(queue));
		words[out] = i;
	}
}

static void ask(void)
{
	take_turns(1, 0, 1);
}

static void answer(void)
{
	take_turns(0, 1, 0);
}

static uint32_t processes(void)
{
	return run_beside(answer, ask) ? words[1] : 0;
}

/* Patterns by words that kernels poll. ------------------------------------------ */

/* A receive that is posted before the send. */
static uint32_t early_receive(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(a, 0, i, 1, i);
		launch(b, 100, 0, NULL, NULL);
		store(b, 0, i);
		CHECK(clFinish(a));
	}
	return words[1];
}

/* Both in one queue, which may run them concurrently. */
static uint32_t one_queue(void)
{
	cl_command_queue queue = open_queue(OUT_OF_ORDER);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(queue, 0, i, 1, i);
		launch(queue, 100, 0, NULL, NULL);
		store(queue, 0, i);
		CHECK(clFinish(queue));
	}
	return words[1];
}

/* The command that releases the kernel is behind a user event in the same queue. */
static uint32_t one_queue_set_late(void)
{
	cl_command_queue queue = open_queue(OUT_OF_ORDER);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		cl_event gate = user_event();

		relay(queue, 0, i, 1, i);
		CHECK(clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL));
		store(queue, 0, i);
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(queue));
		CHECK(clReleaseEvent(gate));
	}
	return words[1];
}

/* A callback submits the command that releases the kernel. */
static void CL_CALLBACK store_in_callback(cl_event event, cl_int status, void *userdata)
{
	words[2]++;
	store(userdata, 0, words[2]);
}

static uint32_t from_callback(unsigned long long properties)
{
	cl_command_queue a = open_queue(properties), b = properties ? a : open_queue(0),
			 c = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		cl_event event;

		relay(a, 0, i, 1, i);
		launch(c, 100, 0, NULL, &event);
		CHECK(clSetEventCallback(event, CL_COMPLETE, store_in_callback, b));
		CHECK(clFlush(c));
		CHECK(clFinish(a));
		CHECK(clReleaseEvent(event));
	}
	return words[1];
}

static uint32_t callback_stores(void)
{
	return from_callback(0);
}

static uint32_t callback_stores_in_one_queue(void)
{
	return from_callback(OUT_OF_ORDER);
}

/* The host feeds a kernel that stays, while another queue computes. */
static uint32_t persistent(void)
{
	cl_command_queue server = open_queue(0), other = open_queue(0);

	for (uint32_t i = 1; i <= 4; i++) {
		relay(server, 0, i, 1, i);
		for (int k = 0; k < 40; k++) {
			launch(other, 200, 0, NULL, NULL);
			if (k % 10 == 0)
				CHECK(clFinish(other));
		}
		CHECK(clFinish(other));
		words[0] = i;
		await_on_host(1, i);
	}
	CHECK(clFinish(server));
	return words[1];
}

static uint32_t held_by_host(void)
{
	cl_command_queue queue = open_queue(0);

	for (uint32_t i = 1; i <= 3; i++) {
		relay(queue, 0, i, 1, i);
		for (int k = 0; k < 20; k++)
			launch(queue, 1000, 0, NULL, NULL);
		words[0] = i;
		CHECK(clFinish(queue));
	}
	return words[1];
}

static void *finish(void *userdata)
{
	char bytes[4];

	CHECK(clEnqueueReadBuffer(
		userdata, here.words, CL_TRUE, 4, 4, bytes, 0, NULL, NULL));
	return NULL;
}

/* A thread reads behind a kernel that waits for a command of another thread. */
static uint32_t blocking_read(void)
{
	cl_command_queue a = open_queue(0), b = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		pthread_t thread;

		relay(a, 0, i, 1, i);
		thread = start_thread(finish, a);
		usleep(5000);
		launch(b, 100, 0, NULL, NULL);
		store(b, 0, i);
		pthread_join(thread, NULL);
	}
	return words[1];
}

static uint32_t spin_across_contexts(void)
{
	cl_int r;
	cl_command_queue a = open_queue(0), b;
	struct place there;

	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	CHECK(r);
	there = open_place(context);
	b = open_queue(0);
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(a, 0, i, 1, i);
		relay_at(&there, b, ALWAYS, 0, 0, i, NULL);
		CHECK(clFinish(a));
	}
	CHECK(clFinish(b));
	return words[1];
}

/* A kernel of each process waits for one of the other. */
static void ask_by_kernels(void)
{
	cl_command_queue queue = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++)
		relay(queue, 1, i - 1, 0, i);
	CHECK(clFinish(queue));
}

static void answer_by_kernels(void)
{
	cl_command_queue queue = open_queue(0);

	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(queue, 0, i, 1, i);
		CHECK(clFinish(queue));
	}
}

static uint32_t spin_across_processes(void)
{
	return run_beside(answer_by_kernels, ask_by_kernels) ? words[1] : 0;
}

static const struct pattern {
	const char *name;
	uint32_t (*run)(void);
	uint32_t result;
	int spins, begins_itself;
} patterns[] = {
	/* clang-format off */
	{ "graph",                  graph,                        N_ROUNDS, 0, 0 },
	{ "unflushed",              unflushed,                    N_ROUNDS, 0, 0 },
	{ "ping-pong",              ping_pong,                    200,      0, 0 },
	{ "set-late",               set_late,                     N_ROUNDS, 0, 0 },
	{ "callbacks",              callbacks,                    N_ROUNDS, 0, 0 },
	{ "barriers",               barriers,                     N_ROUNDS, 0, 0 },
	{ "many-behind",            many_behind,                  300,      0, 0 },
	{ "blocking",               blocking,                     N_ROUNDS, 0, 0 },
	{ "threads",                threads,                      16,       0, 0 },
	{ "two-contexts",           two_contexts,                 20,       0, 0 },
	{ "native-signals",         native_signals,               N_ROUNDS, 0, 0 },
	{ "native-awaits",          native_awaits,                3,        0, 0 },
	{ "processes",              processes,                    N_ROUNDS, 0, 1 },
	{ "early-receive",          early_receive,                N_ROUNDS, 1, 0 },
	{ "one-queue",              one_queue,                    N_ROUNDS, 1, 0 },
	{ "one-queue-set-late",     one_queue_set_late,           N_ROUNDS, 1, 0 },
	{ "callback-stores",        callback_stores,              N_ROUNDS, 1, 0 },
	{ "callback-in-one-queue",  callback_stores_in_one_queue, N_ROUNDS, 1, 0 },
	{ "persistent",             persistent,                   4,        1, 0 },
	{ "held-by-host",           held_by_host,                 3,        1, 0 },
	{ "blocking-read",          blocking_read,                N_ROUNDS, 1, 0 },
	{ "spin-across-contexts",   spin_across_contexts,         N_ROUNDS, 1, 0 },
	{ "spin-across-processes",  spin_across_processes,        N_ROUNDS, 1, 1 },
	/* clang-format on */
};

#define N_PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

static int run(const struct pattern *pattern)
{
	uint32_t result;

	share_words();
	if (!pattern->begins_itself)
		begin();
	result = pattern->run();
	printf("done %u\n", result);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return result == pattern->result ? 0 : 1;
}

static void *end_with_input(void *userdata)
{
	while (getchar() != EOF)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "";

	if (strcmp(wanted, "competitor") == 0) {
		start_thread(end_with_input, NULL);
		open_device();
		keep_busy();
	}
	for (size_t i = 0; i < N_PATTERNS; i++) {
		if (argc < 2 || (strcmp(wanted, "events") == 0 && !patterns[i].spins))
			puts(patterns[i].name);
		if (strcmp(wanted, patterns[i].name) == 0)
			return run(&patterns[i]);
	}
	return argc < 2 || strcmp(wanted, "events") == 0 ? 0 : 64;
}
