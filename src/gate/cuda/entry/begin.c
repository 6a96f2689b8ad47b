/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit attaches the process to its lease, and fails where the process must see no
 * device. */
#include "gate/attach/attachment.h"
#include "gate/cuda/context/library.h"
#include "gate/cuda/context/part.h"
#include "gate/preload/visible.h"
#include "gate/process/view.h"

int clv_own_cuInit(clv_fn_cuInit *real, uint32_t flags)
{
	bool is_refused;
	const struct clv_view *view = clv_gate_view(&is_refused);

	if (is_refused)
		return CLV_CUDA_NO_DEVICE;
	/* The real cuInit reads the environment. */
	if (view)
		clv_visible_choose("CUDA_VISIBLE_DEVICES",
			view->devices[0] ? view->devices : view->model, view->n_before);
	clv_cuda_part_begin();
	return real(flags);
}
