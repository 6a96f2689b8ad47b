/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more than the share, or to take from the share of others, by waiting:
 * callbacks, blocked streams, kernels that do not end. */
#include "cuda.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int cuStreamAddCallback(handle stream,
	void (*call)(handle stream, int status, void *user), void *user, unsigned flags);

static handle in_callback, programs_context;

/* The launches are either refused or done. */
static void try_launches(handle stream)
{
	int r = cuCtxSetCurrent(programs_context);

	for (int i = 0; i < 8 && !r; i++)
		r = try_launch(stream, KERNEL_NS);
	if (r && r != NOT_PERMITTED)
		way_die("a launch in a callback", r);
}

/* Each callback submits work and the next callback. */
static void launch_again(void *userdata)
{
	try_launches(in_callback);
	cuLaunchHostFunc(in_callback, launch_again, userdata);
}

static int callbacks(char **arguments)
{
	gpu_open();
	OK(cuCtxGetCurrent(&programs_context));
	in_callback = new_stream();
	way_say("go\n");
	for (int i = 0; i < 4; i++)
		OK(cuLaunchHostFunc(in_callback, launch_again, NULL));
	way_stay();
	return 0;
}

static void launch_once_more(handle stream, int status, void *userdata)
{
	try_launches(stream);
	cuStreamAddCallback(stream, launch_once_more, userdata, 0);
}

static int stream_callbacks(char **arguments)
{
	handle stream;

	gpu_open();
	OK(cuCtxGetCurrent(&programs_context));
	stream = new_stream();
	way_say("go\n");
	OK(cuStreamAddCallback(stream, launch_once_more, NULL, 0));
	way_stay();
	return 0;
}

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void *userdata)
{
	pthread_mutex_lock(&programs_lock);
	pthread_mutex_unlock(&programs_lock);
}

/* A callback waits for a lock that the submitting thread holds. */
static int callbacks_locked(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		pthread_mutex_lock(&programs_lock);
		for (int i = 0; i < 16; i++) {
			launch(stream, KERNEL_NS);
			OK(cuLaunchHostFunc(stream, take_lock, NULL));
		}
		pthread_mutex_unlock(&programs_lock);
		OK(cuStreamSynchronize(stream));
	}
}

static void never_return(void *userdata)
{
	for (;;)
		pause();
}

static void *flood_beside(void *userdata)
{
	OK(cuCtxSetCurrent(userdata));
	flood_with_kernels(new_stream(), way_number("BYPASS_NS", 30000000), 1);
	return NULL;
}

/* A callback that never returns: work that waits for a turn must not wait for it, and
 * must still wait for the turn. */
static int stuck_callback(char **arguments)
{
	pthread_t threads[4];
	handle stream, context;

	gpu_open();
	OK(cuCtxGetCurrent(&context));
	stream = new_stream();
	OK(cuLaunchHostFunc(stream, never_return, NULL));
	launch(stream, 1000);
	way_say("go\n");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, flood_beside, context);
	pthread_join(threads[0], NULL);
	return 0;
}

/* --- Blocked streams --- */

static volatile uint32_t *word;

static void make_word(void)
{
	void *memory;

	OK(cuMemHostAlloc(&memory, 4096, 0));
	word = memory;
	*word = 0;
}

static dptr at_word(void)
{
	return (dptr)(uintptr_t)word;
}

/* One stream is blocked for ever; the others run. */
static int standing_stream(char **arguments)
{
	handle stream;

	gpu_open();
	make_word();
	stream = new_stream();
	OK(cuStreamWaitValue32_v2(stream, at_word(), 1, 1));
	launch(stream, 1000);
	way_say("go\n");
	flood_with_kernels(new_stream(), KERNEL_NS, 16);
	return 0;
}

/* The process keeps its turn and does nothing with it. */
static int holding_turn(char **arguments)
{
	handle stream;

	gpu_open();
	make_word();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		*word = 0;
		OK(cuStreamWaitValue32_v2(stream, at_word(), 1, 1));
		launch(stream, 1000);
		usleep(900000);
		*word = 1;
		OK(cuStreamSynchronize(stream));
	}
}

/* All submitted work is unblocked at once. */
static int let_go_at_once(char **arguments)
{
	handle streams[64];

	gpu_open();
	make_word();
	train(spin, 1000);
	for (int i = 0; i < 64; i++)
		streams[i] = new_stream();
	way_say("go\n");
	for (uint32_t turn = 1;; turn++) {
		for (int i = 0; i < 64; i++)
			OK(cuStreamWaitValue32_v2(streams[i], at_word(), turn, 0));
		for (int i = 0; i < 640; i++)
			launch(streams[i % 64], 2000000);
		*word = turn;
		OK(cuCtxSynchronize());
		train(spin, 1000);
	}
}

/* Everything is submitted in one turn.  Then it is unblocked piece by piece, each when
 * the last one is complete, without the process waiting for a turn.  After that it
 * submits as usual. */
static int repeat_debt(char **arguments)
{
	const uint32_t n = 60;
	handle stream;

	gpu_open();
	make_word();
	stream = new_stream();
	train(spin, 1000);
	for (uint32_t i = 1; i <= n; i++) {
		OK(cuStreamWaitValue32_v2(stream, at_word(), i, 0));
		launch(stream, 50000000);
	}
	way_say("go\n");
	for (uint32_t i = 1; i <= n; i++) {
		*word = i;
		usleep(105000);
	}
	flood_with_kernels(stream, KERNEL_NS, 16);
	return 0;
}

/* Memory words are written as fast as possible, which is nearly no work for the GPU. */
static int spinning_writes(char **arguments)
{
	handle stream;

	gpu_open();
	make_word();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		for (uint32_t i = 0; i < 64; i++)
			OK(cuStreamWriteValue32_v2(stream, at_word(), i, 0));
		for (int i = 0; i < 8; i++)
			launch(stream, KERNEL_NS);
		OK(cuStreamSynchronize(stream));
	}
}

/* --- Kernels that do not end --- */

static int huge_kernels(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	way_say("go\n");
	for (;;) {
		launch(stream, 400000000);
		OK(cuStreamSynchronize(stream));
	}
}

static int endless_kernel(char **arguments)
{
	gpu_open();
	way_say("go\n");
	launch(new_stream(), 3600000000000);
	way_stay();
	return 0;
}

/* The process is stopped in the middle of its turn. */
static int stopped(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	for (int i = 0; i < 40; i++)
		launch(stream, KERNEL_NS);
	way_say("go\n");
	raise(SIGSTOP);
	return 0;
}

const struct way way_waits[] = {
	{"callbacks", callbacks},
	{"stream-callbacks", stream_callbacks},
	{"callbacks-locked", callbacks_locked},
	{"stuck-callback", stuck_callback},
	{"standing-stream", standing_stream},
	{"holding-turn", holding_turn},
	{"let-go-at-once", let_go_at_once},
	{"repeat-debt", repeat_debt},
	{"spinning-writes", spinning_writes},
	{"huge-kernels", huge_kernels},
	{"endless-kernel", endless_kernel},
	{"stopped", stopped},
	{NULL, NULL},
};
