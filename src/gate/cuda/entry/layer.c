/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the gate for CUDA supplies to the code that all gates share. */
#include "gate/attach/attachment.h"
#include "gate/cuda/context/driver.h"
#include "gate/cuda/context/green.h"
#include "gate/cuda/context/subcontext.h"
#include "gate/cuda/entry/channels.h"
#include "gate/cuda/memory/charge.h"
#include "gate/cuda/memory/freed.h"
#include "gate/cuda/memory/heap.h"
#include "gate/cuda/memory/pool.h"
#include "gate/cuda/memory/recall.h"
#include "gate/cuda/memory/spill.h"
#include "gate/cuda/stream/graph.h"
#include "gate/memory/charges.h"
#include "gate/memory/exports.h"
#include "gate/memory/pieces.h"
#include "gate/preload/library.h"
#include "gate/process/state.h"
#include "gate/process/tickets.h"
#include "gate/queue/blocked-queue.h"
#include "gate/queue/queues.h"
#include "gate/streams/blocked-stream.h"
#include "gate/streams/capture.h"
#include "gate/streams/copies.h"
#include "gate/streams/driver.h"
#include "gate/streams/graph.h"
#include "gate/streams/host-node.h"
#include "gate/streams/legacy.h"
#include "gate/streams/shared-events.h"
#include "gate/streams/stream.h"
#include "gate/window/helper.h"

#include <pthread.h>

static void forget_parent(void)
{
	clv_queues_forget_parent();
	clv_charges_forget_parent();
	clv_tickets_forget_parent();
	clv_pieces_forget_parent();
	clv_captures_forget_parent();
	clv_legacy_forget_parent();
	clv_copies_forget_parent();
	clv_blocked_forget_parent();
	clv_graphs_forget_parent();
	clv_host_nodes_forget_parent();
	clv_shared_events_forget_parent();
	clv_cuda_channels_forget_parent();
	clv_cuda_spilled_forget_parent();
	clv_cuda_recall_forget_parent();
	clv_cuda_green_forget_parent();
	clv_cuda_subcontexts_forget_parent();
	clv_cuda_pools_forget_parent();
	clv_cuda_freed_forget_parent();
	clv_cuda_heap_forget_parent();
	clv_cuda_graphs_forget_parent();
}

static const struct clv_gate_api api = {
	.attach_api = CLV_ATTACH_API_CUDA,
	.run_helper = clv_helper_run,
	.mark_tails = clv_queues_mark_tails,
	.wait_for_marker = clv_queues_wait_for_marker,
	.book_queue = clv_queues_look_aside,
	.poll_ns = clv_queues_poll_ns,
	.queues = &clv_stream_queue_ops,
	.forget_parent = forget_parent,
	.report_again = clv_exports_tell_again,
	.settle_memory = clv_cuda_memory_settle,
};

static void begin(void)
{
	clv_streams_begin(&clv_cuda_stream_driver);
	clv_gate_init(&api);
}

void clv_preload_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
}

bool clv_preload_is_leased(void)
{
	bool is_refused;

	clv_preload_begin();
	return clv_gate_view(&is_refused) || is_refused;
}
