/* SPDX-License-Identifier: Apache-2.0 */
/* The subscribers of each notice.  Notices may be published before a subscriber's room
 * has started and after it has ended, when its pointer is NULL. */
#include "agent/main/subscribers.h"

#include "agent/api/show/lease-changes.h"
#include "agent/apply/apply-marks.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/device/partitions.h"
#include "agent/history/history.h"
#include "agent/history/usage.h"
#include "agent/http/http.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/layout/reapply.h"
#include "agent/lease/lease.h"
#include "agent/lease/machine.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/lifecycle/renumbering.h"
#include "agent/main/idle.h"
#include "agent/main/resurvey.h"
#include "agent/main/service.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "agent/watch/watchdog.h"
#include "base/cleanup.h"

static void wake_requests(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	if (agent->http)
		clv_http_wake(agent->http, notice->topics);
}

static void postpone_exit(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_idle_touch(agent->idle);
}

static void update_status(void *userdata, const struct clv_notice *notice)
{
	clv_service_changed(userdata);
}

static void sample_soon(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	if (agent->watchdog)
		clv_watchdog_sample_soon(agent->watchdog);
}

static void compare_devices(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	if (agent->watchdog)
		clv_watchdog_surveyed(agent->watchdog);
}

static void ask_again(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	if (agent->resurvey)
		clv_resurvey_answered(agent->resurvey);
}

static void resume_after_renumbering(void *userdata, const struct clv_notice *notice)
{
	clv_renumbering_ended(userdata);
}

static void serve_queue(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_lifecycle_serve(agent->lifecycle, notice->device);
}

static void check_lease_end(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_lifecycle_check_end(agent->lifecycle, notice->lease);
}

static void close_usage(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_usage_end(agent->usage, notice->lease);
}

static void close_history(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_history_end(agent->history, notice->lease);
}

static void list_end(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_lease_changes_ended(agent->changes, notice->lease);
}

/* They were closed for a virtual machine, which has them no more.  The end of another
 * lease leaves them closed: VFIO's driver may be taking them. */
static void reopen_devices(void *userdata, const struct clv_notice *notice)
{
	const struct clv_agent_device *device;
	struct clv_agent *agent = userdata;

	if (!agent->hardware || !clv_machine_has_whole(notice->lease))
		return;
	for (size_t i = 0; (device = clv_lease_device(notice->lease, i)); i++) {
		if (!device->parent)
			clv_hardware_reopen(agent->hardware, device->info.pci_address);
	}
}

static void take_node(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_partitions_take_node(agent, clv_hardware_node(agent->hardware));
	clv_devices_take_held(agent->devices);
	clv_devices_claim_all(agent->devices);
	if (agent->apply)
		clv_marks_update(agent->apply);
	if (agent->reapply)
		clv_reapply_compare(agent->reapply);
	if (agent->lifecycle)
		clv_lifecycle_serve_all(agent->lifecycle);
}

static void keep_partition(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_ephemeral_add(agent->ephemeral, notice->name, notice->turned_on);
}

static void forget_partition(void *userdata, const struct clv_notice *notice)
{
	struct clv_agent *agent = userdata;

	clv_ephemeral_forget(agent->ephemeral, notice->name);
}

static const struct {
	enum clv_notice_type type;
	clv_notify_fn function;
} subscribers[] = {
	{CLV_NOTICE_CHANGED, wake_requests},
	{CLV_NOTICE_IN_USE, postpone_exit},
	{CLV_NOTICE_STATUS, update_status},
	{CLV_NOTICE_COMPUTES, sample_soon},
	{CLV_NOTICE_SURVEYED, compare_devices},
	{CLV_NOTICE_SURVEYED, ask_again},
	{CLV_NOTICE_RENUMBERED, resume_after_renumbering},
	{CLV_NOTICE_ROOM, serve_queue},
	{CLV_NOTICE_LEASE_LEFT, check_lease_end},
	{CLV_NOTICE_LEASE_ENDED, close_usage},
	{CLV_NOTICE_LEASE_ENDED, close_history},
	{CLV_NOTICE_LEASE_ENDED, list_end},
	{CLV_NOTICE_LEASE_ENDED, reopen_devices},
	{CLV_NOTICE_NODE_READ, take_node},
	{CLV_NOTICE_PARTITION_MADE, keep_partition},
	{CLV_NOTICE_PARTITION_KEPT, forget_partition},
};

void clv_subscribers_add(struct clv_agent *agent)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(subscribers); i++)
		clv_notify_subscribe(agent->notify, subscribers[i].type,
			subscribers[i].function, agent);
}
