/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/event-record.h"

static const char *const type_names[_CLV_EVENT_TYPE_MAX] = {
	[CLV_EVENT_AGENT_STARTED] = "agent_started",
	[CLV_EVENT_AGENT_STOPPING] = "agent_stopping",
	[CLV_EVENT_LEASE_QUEUED] = "lease_queued",
	[CLV_EVENT_LEASE_CREATED] = "lease_created",
	[CLV_EVENT_LEASE_RESIZED] = "lease_resized",
	[CLV_EVENT_LEASE_ENDED] = "lease_ended",
	[CLV_EVENT_PROCESS_ATTACHED] = "process_attached",
	[CLV_EVENT_PROCESS_REFUSED] = "process_refused",
	[CLV_EVENT_PROCESS_ENDED] = "process_ended",
	[CLV_EVENT_MEMORY_REFUSED] = "memory_refused",
	[CLV_EVENT_DRAIN_OVERDUE] = "drain_overdue",
	[CLV_EVENT_LEASE_ADOPTED] = "lease_adopted",
	[CLV_EVENT_PROCESS_STRAYED] = "process_strayed",
	[CLV_EVENT_APPLY_DONE] = "apply_done",
	[CLV_EVENT_APPLY_FAILED] = "apply_failed",
	[CLV_EVENT_APPLY_ROLLED_BACK] = "apply_rolled_back",
	[CLV_EVENT_APPLY_RESUMED] = "apply_resumed",
	[CLV_EVENT_LAYOUT_WAITS] = "layout_waits",
	[CLV_EVENT_LEASE_EXPIRED] = "lease_expired",
	[CLV_EVENT_DEVICE_CORDONED] = "device_cordoned",
	[CLV_EVENT_DEVICE_UNCORDONED] = "device_uncordoned",
	[CLV_EVENT_DEVICE_DEGRADED] = "device_degraded",
	[CLV_EVENT_DEVICE_LOST] = "device_lost",
	[CLV_EVENT_DEVICE_RECOVERED] = "device_recovered",
	[CLV_EVENT_DEVICE_ERROR] = "device_error",
	[CLV_EVENT_PROCESS_WITHOUT_LEASE] = "process_without_lease",
	[CLV_EVENT_LEASE_OVER_QUOTA] = "lease_over_quota",
	[CLV_EVENT_LEASE_WITHIN_QUOTA] = "lease_within_quota",
	[CLV_EVENT_LEASE_PAST_GATE] = "lease_past_gate",
	[CLV_EVENT_LEASE_WITHIN_GATE] = "lease_within_gate",
	[CLV_EVENT_DEVICE_EXECUTOR] = "device_executor",
	[CLV_EVENT_UNGATED_API] = "ungated_api",
	[CLV_EVENT_PROCESSES_UNCHECKED] = "processes_unchecked",
	[CLV_EVENT_SHARE_MOVED] = "share_moved",
	[CLV_EVENT_SM_NOT_HELD] = "sm_not_held",
	[CLV_EVENT_SETTINGS_RELOADED] = "settings_reloaded",
	[CLV_EVENT_SETTINGS_REFUSED] = "settings_refused",
	[CLV_EVENT_CONNECTIONS_LIMITED] = "connections_limited",
	[CLV_EVENT_STATE_REMOVED] = "state_removed",
};

const char *clv_event_type_to_string(enum clv_event_type type)
{
	return type_names[type];
}
