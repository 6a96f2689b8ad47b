/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that brings spilled memory back to the device when the quota has room for
 * it: by prefetches as the program could make them, in the lease's turns and a piece at a
 * time. */
#include "gate/cuda/memory/recall.h"

#include "base/clock.h"
#include "base/futex.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/memory/spill.h"
#include "gate/process/thread.h"
#include "gate/streams/driver.h"
#include "gate/streams/handle.h"
#include "gate/streams/stream.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

/* A piece takes some milliseconds on the bus. */
#define PIECE_BYTES (UINT64_C(32) << 20)
/* The quota is polled: nothing tells this thread that another process of the lease freed
 * memory, or that the quota grew. */
#define LOOK_NS (100 * CLV_NS_PER_MS)

static _Atomic uint32_t is_started, wake_word;

struct piece {
	uint64_t offset;
	size_t n_bytes;
	void *stream;
};

static int prefer_device(const struct clv_cuda_spilled *spilled, void *userdata)
{
	(void)userdata;
	return clv_cuda.cuMemAdvise(spilled->address, spilled->n_bytes,
		CLV_CUDA_ADVISE_PREFERRED_LOCATION, spilled->device);
}

static int prefetch(const struct clv_cuda_spilled *spilled, void *userdata)
{
	const struct piece *piece = userdata;

	return clv_cuda.cuMemPrefetchAsync(spilled->address + piece->offset,
		piece->n_bytes, spilled->device, piece->stream);
}

static int prefetch_in_turn(const struct clv_cuda_spilled *spilled, struct piece *piece)
{
	struct clv_stream_submission submission;
	int r = clv_stream_submission_begin(&submission, piece->stream, false,
		clv_cost_key_bytes(CLV_COST_MIGRATE, piece->n_bytes), false);

	if (r != CLV_STREAM_SUCCESS)
		return r;
	return clv_stream_submission_end(
		&submission, clv_cuda_spilled_call(spilled, prefetch, piece));
}

static int open_stream(void *context, void **ret)
{
	int r = clv_stream_driver->set_context(context);

	clv_stream_forget_context();
	if (r != CLV_CUDA_SUCCESS)
		return r;
	return clv_cuda.cuStreamCreate((void *)ret, CLV_CUDA_STREAM_NON_BLOCKING);
}

static void close_stream(void *stream)
{
	clv_stream_end(stream);
	clv_cuda.cuStreamDestroy_v2(stream);
}

static void recall(const struct clv_cuda_spilled *spilled)
{
	struct piece piece = {0};
	int r = clv_cuda_spilled_call(spilled, prefer_device, NULL);

	if (r == CLV_CUDA_SUCCESS)
		r = open_stream(spilled->context, &piece.stream);
	while (r == CLV_CUDA_SUCCESS && piece.offset < spilled->n_bytes) {
		piece.n_bytes = spilled->n_bytes - piece.offset;
		if (piece.n_bytes > PIECE_BYTES)
			piece.n_bytes = PIECE_BYTES;
		r = prefetch_in_turn(spilled, &piece);
		piece.offset += piece.n_bytes;
	}
	if (piece.stream)
		close_stream(piece.stream);
}

static void *run(void *unused)
{
	int mode = CLV_CUDA_CAPTURE_MODE_RELAXED;

	(void)unused;
	clv_cuda.cuThreadExchangeStreamCaptureMode(&mode);
	for (;;) {
		uint32_t seen = atomic_load(&wake_word);

		if (!clv_cuda_spilled_recall(recall))
			clv_futex_wait(
				&wake_word, seen, clv_cuda_spilled_any() ? LOOK_NS : 0);
	}
	return NULL;
}

void clv_cuda_recall_start(void)
{
	atomic_fetch_add(&wake_word, 1);
	if (atomic_exchange(&is_started, 1))
		clv_futex_wake(&wake_word, 1);
	else if (!clv_helper_spawn(run))
		atomic_store(&is_started, 0);
}

void clv_cuda_recall_forget_parent(void)
{
	atomic_store(&is_started, 0);
}
