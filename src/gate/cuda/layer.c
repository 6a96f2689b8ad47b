/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/cuda/layer.h"

#include "gate/charges.h"
#include "gate/cuda/stream.h"

static void forget_parent(void)
{
	clv_queues_forget_parent();
	clv_charges_forget_parent();
	atomic_store(&clv_cuda_n_captures, 0);
}

static const struct clv_gate_api api = {
	.attach_api = CLV_ATTACH_API_CUDA,
	.mark_tails = clv_queues_mark_tails,
	.wait_for_marker = clv_queues_wait_for_marker,
	.queues = &clv_cuda_queue_ops,
	.forget_parent = forget_parent,
};

void clv_cuda_layer_begin(void)
{
	clv_gate_init(&api);
}
