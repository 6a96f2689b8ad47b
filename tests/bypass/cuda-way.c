/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one way by its name, and has what the ways through CUDA have in common. */
#include "cuda.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

handle spin;

static const char spin_of_gpu[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry spin(.param .u64 ns)\n{\n"
	".reg .u64 %n, %t0, %t1;\n.reg .pred %p;\n"
	"ld.param.u64 %n, [ns];\nmov.u64 %t0, %globaltimer;\n"
	"again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
	"setp.lt.u64 %p, %t1, %n;\n@%p bra again;\nret;\n}\n";

/* The first device's primary context, current. */
void gpu_open(void)
{
	handle context;
	int r = cuInit(0);

	if (r) {
		way_say("no-device %d\n", r);
		exit(WAY_EXIT_NO_DEVICE);
	}
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	spin = load_kernel("kernel spin param\n");
}

handle load_kernel(const char *line)
{
	char image[256], name[64] = "";
	handle module, function = NULL;

	snprintf(image, sizeof(image), "cleave-double-module\n%s", line);
	/* A real driver needs code: that of one kernel exists. */
	if (cuModuleLoadData(&module, image) != 0)
		OK(cuModuleLoadData(&module, spin_of_gpu));
	if (sscanf(line, "kernel %63s", name) == 1)
		OK(cuModuleGetFunction(&function, module, name));
	return function;
}

handle new_stream(void)
{
	handle stream;

	OK(cuStreamCreate(&stream, 1));
	return stream;
}

int try_launch(handle stream, uint64_t ns)
{
	void *parameters[] = {&ns};

	return cuLaunchKernel(spin, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

void launch(handle stream, uint64_t ns)
{
	OK(try_launch(stream, ns));
}

void train(handle kernel, uint64_t ns)
{
	handle stream = new_stream();
	void *parameters[] = {&ns};

	for (int i = 0; i < 200; i++) {
		OK(cuLaunchKernel(
			kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
		if (i % 20 == 19)
			OK(cuStreamSynchronize(stream));
	}
}

void flood(void (*submit)(handle stream), unsigned ahead)
{
	handle stream = new_stream();

	way_say("go\n");
	for (;;) {
		for (unsigned i = 0; i < ahead; i++)
			submit(stream);
		OK(cuStreamSynchronize(stream));
	}
}

void flood_with_kernels(handle stream, uint64_t ns, unsigned ahead)
{
	for (;;) {
		for (unsigned i = 0; i < ahead; i++)
			launch(stream, ns);
		OK(cuStreamSynchronize(stream));
	}
}

void take(int (*piece)(void))
{
	size_t n = 0;
	int r = 0;

	while (n < PIECES_MAX && (r = piece()) == 0)
		n++;
	way_say("got %zu code %d\n", n * PIECE_BYTES, r);
}

int take_plain(void)
{
	dptr piece;

	return cuMemAlloc_v2(&piece, PIECE_BYTES);
}

/* --- The shim --- */

const uint64_t gpu_ms = 1000000000;
const size_t gpu_pieces_max = PIECES_MAX, gpu_piece_bytes = PIECE_BYTES;
char gpu_way_of_memory[] = "allocations";

int gpu_take_piece(void)
{
	return take_plain();
}

void gpu_take_all(void)
{
	gpu_open();
	take(take_plain);
	way_stay();
}

void gpu_take_half(void)
{
	gpu_open();
	for (uint64_t i = way_number("BYPASS_HALF_PIECES", 4); i > 0; i--)
		OK(take_plain());
}

/* CUDA does not support children that use their parent's context: they get its error. */
void gpu_take_inherited(void)
{
	int r = take_plain();

	way_say(r ? "no: error %d\n" : "yes, error %d\n", r);
}

void gpu_keep(void)
{
	way_stay();
}

/* --- Modes that bypass nothing --- */

static void *flood_for_ever(void *userdata)
{
	handle context = userdata;

	OK(cuCtxSetCurrent(context));
	flood_with_kernels(new_stream(), KERNEL_NS, 8);
	return NULL;
}

/* Keeps the GPU busy until it is killed.  Two threads, so that it always has work ready:
 * a lease without work gives its share away, and then the other lease's share would prove
 * nothing. */
static int neighbour(char **arguments)
{
	pthread_t threads[2];
	handle context;
	dptr own;

	gpu_open();
	OK(cuMemAlloc_v2(&own, PIECE_BYTES));
	OK(cuCtxGetCurrent(&context));
	way_say("go\n");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flood_for_ever, context);
	pthread_join(threads[0], NULL);
	return 0;
}

static int hold(char **arguments)
{
	gpu_open();
	way_say("go\n");
	way_stay();
	return 0;
}

/* Allocates a piece for each byte of its input. */
static int step(char **arguments)
{
	char byte;

	gpu_open();
	way_say("go\n");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		way_say("step %d\n", take_plain());
	return 0;
}

/* Prints when its first kernel was submitted and when it was complete. */
static int first_kernel(char **arguments)
{
	handle stream;

	gpu_open();
	stream = new_stream();
	way_say("go\n");
	way_say("submitted %llu\n", (unsigned long long)way_now_ns());
	launch(stream, 100000);
	OK(cuStreamSynchronize(stream));
	way_say("done\n");
	way_stay();
	return 0;
}

static const struct way way_common[] = {{"neighbour", neighbour}, {"hold", hold},
	{"step", step}, {"first-kernel", first_kernel}, {NULL, NULL}};

static const struct way *const families[] = {way_common, way_memory, way_streams,
	way_counts, way_waits, way_processes, way_more_processes, way_pages,
	way_more_pages, way_outlived, way_users, way_driver, way_forged};
static const struct flood *const flood_families[] = {way_floods, way_graph_floods};
static const struct taking *const piece_families[] = {way_pieces, way_kept_pieces};

static void run_flood(const char *name)
{
	for (size_t i = 0; i < sizeof(flood_families) / sizeof(flood_families[0]); i++) {
		for (const struct flood *each = flood_families[i]; each->name; each++) {
			if (strcmp(each->name, name) != 0)
				continue;
			gpu_open();
			if (each->prepare)
				each->prepare();
			flood(each->submit, each->ahead);
		}
	}
}

static bool run_taking(const char *name)
{
	for (size_t i = 0; i < sizeof(piece_families) / sizeof(piece_families[0]); i++) {
		for (const struct taking *each = piece_families[i]; each->name; each++) {
			if (strcmp(each->name, name) != 0)
				continue;
			gpu_open();
			take(each->piece);
			way_stay();
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "(none)";
	int r = way_run(families, sizeof(families) / sizeof(families[0]), argv + 1);

	if (r >= 0)
		return r;
	run_flood(name);
	if (run_taking(name))
		return 0;
	fprintf(stderr, "bypass: no such way: %s\n", name);
	return 64;
}
