/* SPDX-License-Identifier: Apache-2.0 */
/* hsa_init attaches the process to its lease, and fails where the process must see no
 * device.  HIP always begins with hsa_init. */
#include "gate/attach/attachment.h"
#include "gate/hsa/library.h"
#include "gate/hsa/units.h"
#include "gate/preload/visible.h"
#include "gate/process/view.h"

int clv_own_hsa_init(clv_fn_hsa_init *real)
{
	bool is_refused;
	const struct clv_view *view = clv_gate_view(&is_refused);

	if (is_refused)
		return CLV_HSA_OUT_OF_RESOURCES;
	/* The real hsa_init reads the environment. */
	if (view) {
		clv_visible_choose("ROCR_VISIBLE_DEVICES",
			view->devices[0] ? view->devices : view->model);
		clv_hsa_units_begin();
	}
	return real();
}
