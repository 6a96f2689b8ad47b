/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the limit in space and reports to the agent how it is enforced. */
#include "gate/attach/sm.h"

#include "gate/attach/attach.h"
#include "gate/process/view.h"

#include <errno.h>

struct clv_sm_limit clv_sm_limit_get(void)
{
	const struct clv_view *view = clv_gate_current_view();

	if (!view)
		return (struct clv_sm_limit){0};
	return (struct clv_sm_limit){
		view->control->sm_ppm,
		view->control->sm_first,
		view->control->sm_count,
	};
}

static void report_state(struct clv_view *view, uint32_t state, uint32_t count)
{
	struct clv_attach_sm_state message = {
		.magic = CLV_ATTACH_SM_MAGIC, .state = state, .count = count};
	uint32_t before = atomic_load(&view->sm_state);
	int saved_errno = errno;

	while (before < state) {
		if (!atomic_compare_exchange_weak(&view->sm_state, &before, state))
			continue;
		atomic_store(&view->sm_count, count);
		clv_attach_tell(view, &message, sizeof(message), NULL);
		break;
	}
	errno = saved_errno;
}

void clv_sm_tell(enum clv_attach_sm state, uint32_t count)
{
	struct clv_view *view = clv_gate_current_view();

	if (view && view->control->sm_ppm > 0)
		report_state(view, state, count);
}

void clv_sm_tell_again(const struct clv_view *old, struct clv_view *view)
{
	report_state(view, atomic_load(&old->sm_state), atomic_load(&old->sm_count));
}
