/* SPDX-License-Identifier: Apache-2.0 */
/* Adoption of an earlier agent's leases.  Their programs keep running: when an agent dies
 * their gates let work through without turns, and connect to the same socket path when
 * the next agent listens.  The first gate to reconnect passes the report page, which has
 * the memory ledger; gates without the page wait for it for two seconds. */
#include "agent/main/adopt.h"

#include "agent/attach/gate-server.h"
#include "agent/attach/lease-open.h"
#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/lease/lease-arbiter.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/os/page-search.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_US 2000000u
#define EVENTS_MAX 100u
#define FOUND 256u

struct records {
	struct clv_lease_record *items;
	size_t n_items;
	/* The ids of leases of which more is stored than the record, sorted. */
	char (*attached)[CLV_LEASE_ID_MAX];
	size_t n_attached;
	char boot_id[40];
	size_t n_silent; /* adopted without an event for each */
	/* A cache of lookups by UUID, for many leases on few devices. */
	struct clv_agent_device *found[FOUND];
};

static int collect(void *userdata, const struct clv_lease_record *record)
{
	struct records *records = userdata;
	struct clv_lease_record *slot = CLV_APPEND(records->items, records->n_items);

	if (!slot)
		return -ENOMEM;
	*slot = *record;
	return 0;
}

static int collect_attached(void *userdata, const char *id)
{
	struct records *records = userdata;
	char(*slot)[CLV_LEASE_ID_MAX] =
		CLV_APPEND(records->attached, records->n_attached);

	if (!slot)
		return -ENOMEM;
	snprintf(*slot, sizeof(*slot), "%s", id);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_attached(const struct records *records, const char *id)
{
	return records->n_attached > 0 &&
	       bsearch(id, records->attached, records->n_attached,
		       sizeof(records->attached[0]), by_text);
}

/* Opens the report page that the adopted processes of the lease had, where one of them
 * still has it: a child that shares another's memory (CLONE_VM) has no gate, and does not
 * send one.  The caller closes it.  -1: none has it, or the kernel does not let this
 * agent see it; an event says so for each process whose charges are lost by that. */
static int open_left_page(const struct clv_lease *lease)
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

static int on_settle_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_lease *lease = userdata;
	_cleanup_close_ int page = lease->arbiter_lease ? -1 : open_left_page(lease);
	struct clv_error err = {0};

	if (clv_lease_open_arbiter(lease, NULL, page, &err) < 0)
		clv_log_warning(0, "lease %s: %s", lease->record.name, err.msg);
	clv_gate_server_resume(lease->gate);
	return 0;
}

struct processes {
	struct clv_process_record *items;
	size_t n;
};

static int collect_process(void *userdata, const struct clv_process_record *record)
{
	struct processes *processes = userdata;
	struct clv_process_record *slot = CLV_APPEND(processes->items, processes->n);

	if (!slot)
		return -ENOMEM;
	*slot = *record;
	return 0;
}

/* Adopting may change the state file, so all records are read first. */
static int adopt_processes(
	struct clv_agent *agent, struct clv_lease *lease, struct clv_error *err)
{
	struct processes processes = {0};
	int r = clv_store_read_processes(
		agent->state->store, lease->record.id, collect_process, &processes, err);

	for (size_t i = 0; i < processes.n; i++)
		clv_page_exclude(processes.items[i].id.pid);
	for (size_t i = 0; i < processes.n && r >= 0; i++) {
		r = clv_attached_adopt(lease, &processes.items[i]);
		if (r == -ESRCH)
			r = 0;
	}
	free(processes.items);
	return r;
}

static struct clv_agent_device *find_device(
	struct clv_agent *agent, const char *uuid, struct clv_error *err)
{
	struct clv_agent_device *device = clv_devices_find(agent->devices, uuid);
	char json[4096];

	if (device)
		return device;
	if (clv_store_get_device(agent->state->store, uuid, json, sizeof(json), err) < 0)
		return NULL;
	return clv_devices_restore(agent->devices, json, err);
}

static struct clv_agent_device *find_first(struct clv_agent *agent,
	struct records *records, const char *uuid, struct clv_error *err)
{
	struct clv_agent_device **found =
		&records->found[clv_crc32(0, uuid, strlen(uuid)) % FOUND];

	if (!*found || strcmp((*found)->info.uuid, uuid) != 0)
		*found = find_device(agent, uuid, err);
	return *found;
}

struct adoption {
	struct clv_lease *lease;
	struct clv_error *err;
};

static int adopt_device(void *userdata, const char *uuid)
{
	struct adoption *adoption = userdata;
	struct clv_agent *agent = adoption->lease->agent;
	struct clv_agent_device *device = find_device(agent, uuid, adoption->err);

	if (!device)
		return -ENODEV;
	return clv_lease_add_device(adoption->lease, device);
}

static int adopt_holder(void *userdata, const struct clv_process_id *id)
{
	struct adoption *adoption = userdata;

	return clv_holder_adopt(adoption->lease, id, adoption->err);
}

static void claim_all(struct clv_agent *agent, const struct clv_lease *lease)
{
	struct clv_agent_device *device;
	struct clv_error err = {0};

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		if (clv_devices_claim(agent->devices, device, &err) < 0)
			clv_log_warning(0, "%s", err.msg);
	}
}

static int read_more(
	struct clv_agent *agent, struct clv_lease *lease, struct clv_error *err)
{
	struct adoption adoption = {.lease = lease, .err = err};
	int r = clv_store_read_lease_devices(
		agent->state->store, lease->record.id, adopt_device, &adoption, err);

	if (r >= 0)
		r = adopt_processes(agent, lease, err);
	if (r >= 0)
		r = clv_store_read_holders(agent->state->store, lease->record.id,
			adopt_holder, &adoption, err);
	return r;
}

/* Emits an event for each lease; of very many leases those without processes are only
 * counted. */
static void emit_adopted(struct records *records, const struct clv_lease *lease)
{
	if (lease->n_processes == 0 && records->n_items > EVENTS_MAX) {
		records->n_silent++;
		return;
	}
	clv_lease_emit(lease, CLV_EVENT_LEASE_ADOPTED, "taken over with %u attached %s",
		lease->n_processes, lease->n_processes == 1 ? "process" : "processes");
}

static int adopt(struct clv_agent *agent, struct records *records,
	const struct clv_lease_record *record, struct clv_error *err)
{
	struct clv_agent_device *device;
	struct clv_lease *lease;
	int r = 0;

	/* A virtual machine gets its partition again before it starts. */
	if (strcmp(record->boot_id, records->boot_id) != 0 && record->vm[0] == '\0')
		return clv_error_set(
			err, -ESRCH, "the machine has been restarted since then");
	device = find_first(agent, records, record->device_uuid, err);
	if (!device)
		return -ENODEV;
	lease = clv_lease_new(agent, device, record);
	if (!lease)
		return clv_error_errno(err, ENOMEM, "cannot adopt a lease");
	if (is_attached(records, record->id))
		r = read_more(agent, lease, err);
	if (r < 0) {
		clv_lease_free(lease);
		return r;
	}
	r = clv_lifecycle_adopt(agent->lifecycle, lease, err);
	if (r < 0)
		return r;

	claim_all(agent, lease);
	if (lease->n_processes > 0 && !record->is_queued)
		sd_event_add_time_relative(agent->event, &lease->settle_timer,
			CLOCK_MONOTONIC, SETTLE_US, 0, on_settle_timer, lease);
	emit_adopted(records, lease);
	return 0;
}

static void forget(
	struct clv_agent *agent, const struct clv_lease_record *record, const char *why)
{
	struct clv_error err = {0};

	if (clv_store_delete_lease(agent->state->store, record->id, &err) < 0)
		clv_state_set_stale(agent, &err);
	clv_events_emit_for_record(agent, CLV_EVENT_LEASE_ENDED, record, "%s", why);
}

/* Removes folders of leases that are not in the ledger: their agent died before it could
 * remove them. */
static void remove_stray_folders(struct clv_agent *agent)
{
	struct clv_lease stray = {.agent = agent};
	char path[CLV_FOLDER_MAX + 16];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/lease", agent->config.runtime);
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.' ||
			strlen(entry->d_name) >= CLV_LEASE_ID_MAX ||
			clv_ledger_find_id(agent->ledger, entry->d_name))
			continue;
		snprintf(
			stray.record.id, sizeof(stray.record.id), "%.23s", entry->d_name);
		clv_lease_remove_folder(&stray);
	}
	closedir(folder);
}

void clv_adopt_all(struct clv_agent *agent)
{
	struct records records = {0};
	struct clv_error err = {0};

	if (!agent->state->store)
		return;
	clv_process_boot_id(records.boot_id);
	if (clv_store_read_leases(agent->state->store, collect, &records, &err) < 0 ||
		clv_store_read_attached(
			agent->state->store, collect_attached, &records, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	for (size_t i = 0; i < records.n_items; i++) {
		struct clv_error why = {0};
		int r;

		if (clv_ledger_find_id(agent->ledger, records.items[i].id))
			continue; /* in this agent's ledger already */
		r = adopt(agent, &records, &records.items[i], &why);
		if (r == -ESRCH || r == -ENODEV)
			forget(agent, &records.items[i], why.msg);
		else if (r < 0)
			clv_log_warning(r, "lease %s cannot be taken over: %s",
				records.items[i].name, why.msg);
	}
	if (records.n_silent > 0)
		clv_events_emit(agent, CLV_EVENT_LEASE_ADOPTED,
			"%zu leases taken over with nothing attached", records.n_silent);
	remove_stray_folders(agent);
	clv_page_forget_all();
	free(records.items);
	free(records.attached);
}
