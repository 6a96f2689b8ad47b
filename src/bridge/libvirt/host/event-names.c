/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/libvirt/host/event-names.h"

#include "base/cleanup.h"

#include <libvirt/libvirt.h>
#include <stddef.h>

#define REASONS 10

static const struct {
	const char *type;
	const char *reasons[REASONS]; /* by the detail */
} states[] = {
	[VIR_DOMAIN_EVENT_DEFINED] = {"defined",
		{"added", "updated", "renamed", "from a snapshot"}},
	[VIR_DOMAIN_EVENT_UNDEFINED] = {"undefined", {"removed", "renamed"}},
	[VIR_DOMAIN_EVENT_STARTED] = {"started",
		{"booted", "migrated", "restored", "from a snapshot", "woken up"}},
	[VIR_DOMAIN_EVENT_SUSPENDED] = {"paused",
		{"by a command", "migrated", "I/O error", "watchdog", "restored",
			"from a snapshot", "error of an API", "post-copy migration",
			"post-copy migration failed"}},
	[VIR_DOMAIN_EVENT_RESUMED] = {"resumed",
		{"by a command", "migrated", "from a snapshot", "post-copy migration",
			"post-copy migration failed"}},
	[VIR_DOMAIN_EVENT_STOPPED] = {"stopped",
		{"shut down", "turned off", "crashed", "migrated", "saved", "failed",
			"from a snapshot"}},
	[VIR_DOMAIN_EVENT_SHUTDOWN] = {"shutting_down",
		{"finished", "by the guest", "by the host"}},
	[VIR_DOMAIN_EVENT_PMSUSPENDED] = {"suspended", {"to memory", "to disk"}},
	[VIR_DOMAIN_EVENT_CRASHED] = {"crashed", {"panicked", "crash kernel loaded"}},
};

struct clv_vm_event_names clv_vm_event_names(int event, int detail)
{
	const char *reason = NULL;

	if (event < 0 || (size_t)event >= CLV_ARRAY_SIZE(states))
		return (struct clv_vm_event_names){"changed", ""};
	if (detail >= 0 && detail < REASONS)
		reason = states[event].reasons[detail];
	return (struct clv_vm_event_names){states[event].type, reason ? reason : ""};
}

const char *clv_vm_close_reason(int reason)
{
	static const char *const reasons[] = {
		[VIR_CONNECT_CLOSE_REASON_ERROR] = "connection lost",
		[VIR_CONNECT_CLOSE_REASON_EOF] = "libvirt ended the connection",
		[VIR_CONNECT_CLOSE_REASON_KEEPALIVE] = "libvirt said nothing for 30 s",
	};

	return reason >= 0 && (size_t)reason < CLV_ARRAY_SIZE(reasons) ? reasons[reason]
								       : "";
}
