/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that an earlier agent's processes left behind, and their charges. */
#include "agent/lease/left.h"

#include "agent/event/events.h"
#include "agent/os/page-search.h"

bool clv_left_find(const struct clv_process_record *record, struct clv_process_id *ret)
{
	const struct clv_page_user user = {
		.id = record->id, .layout = record->layout, .page = record->page};

	return clv_page_find_heir(&user, ret);
}

int clv_left_open_page(const struct clv_lease *lease)
{
	const struct clv_attached *process;
	int fd = -1;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (fd < 0 && process->record.page != 0)
			fd = clv_page_open(process->record.id.pid, process->record.page);
	}
	if (fd >= 0)
		return fd;
	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		const struct clv_process_record *record = &process->record;

		if (record->page != 0 && clv_page_is_mapped(record->id.pid, record->page))
			clv_lease_emit(lease, CLV_EVENT_PROCESSES_UNCHECKED,
				"process %d has not attached again, and this agent may "
				"not read what it has charged: its memory is not counted",
				(int)record->id.pid);
	}
	return -1;
}
