/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include "agent/attach/lease-open.h"
#include "agent/device/condition.h"
#include "agent/event/counters.h"
#include "agent/event/events.h"
#include "agent/identity/names.h"
#include "agent/layout/ephemeral-partitions.h"
#include "agent/lease/attached.h"
#include "agent/lease/holder.h"
#include "agent/lease/lease-arbiter.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/placing/demand.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_TICKS 1000
#define TURNS_MAX 1000

struct world world;

/* --- Begin and end --- */

static int read_clock(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){.tv_sec = (time_t)(world.now_ns / CLV_NS_PER_S),
		.tv_nsec = (long)(world.now_ns % CLV_NS_PER_S)};
	return 0;
}

static void count_notice(void *userdata, const struct clv_notice *notice)
{
	world.n_notices[notice->type]++;
}

static void begin_rooms(struct clv_agent *agent)
{
	struct clv_error err = {0};

	assert_int_equal(clv_notify_new(&agent->notify, &err), 0);
	for (int i = 0; i < _CLV_NOTICE_TYPE_MAX; i++)
		clv_notify_subscribe(
			agent->notify, (enum clv_notice_type)i, count_notice, NULL);
	assert_int_equal(sd_event_new(&agent->event), 0);
	assert_int_equal(clv_state_open(agent, &err), 0);
	assert_non_null(agent->state->store);
	agent->counters = clv_counters_new(0);
	assert_int_equal(clv_events_new(agent, &agent->events, &err), 0);
	assert_int_equal(clv_names_new(agent, &agent->names, &err), 0);
	assert_int_equal(clv_hardware_new(agent, &agent->hardware, &err), 0);
	assert_int_equal(clv_devices_new(agent, &agent->devices, &err), 0);
	assert_int_equal(clv_ledger_new(agent, &agent->ledger, &err), 0);
	assert_int_equal(clv_standing_new(agent, &agent->standing, &err), 0);
}

int world_begin(void **state)
{
	struct clv_agent *agent = &world.agent;

	world = (struct world){.now_ns = 1000 * CLV_NS_PER_S,
		.real_ns = UINT64_C(1800000000) * CLV_NS_PER_S,
		.n_surveys = 1,
		.folder = "/tmp/clv-agent-XXXXXX"};
	TAILQ_INIT(&world.watches);
	atomic_store(&clv_clock_read, read_clock);
	if (!mkdtemp(world.folder))
		return -1;
	snprintf(agent->config.state, CLV_FOLDER_MAX, "%s", world.folder);
	snprintf(agent->config.runtime, CLV_FOLDER_MAX, "%s", world.folder);
	agent->settings = &world.settings;
	LIST_INIT(&agent->in_use);
	begin_rooms(agent);
	return 0;
}

static void end_leases(struct clv_agent *agent)
{
	struct clv_lease *lease;

	agent->lifecycle = clv_lifecycle_free(agent->lifecycle);
	while ((lease = TAILQ_FIRST(clv_ledger_leases(agent->ledger))))
		world_drop(lease);
	LIST_INIT(&agent->in_use);
}

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

/* Descriptors that a function was to take over and has not closed. */
static size_t count_open_pidfds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < WORLD_FDS; fd++)
		n += world.fds[fd] != 0 && fcntl(fd, F_GETFD) >= 0;
	return n;
}

int world_end(void **state)
{
	struct clv_agent *agent = &world.agent;

	end_leases(agent);
	agent->ephemeral = clv_ephemeral_free(agent->ephemeral);
	agent->standing = clv_standing_free(agent->standing);
	agent->ledger = clv_ledger_free(agent->ledger);
	clv_conditions_free(agent);
	agent->devices = clv_devices_free(agent->devices);
	agent->names = clv_names_free(agent->names);
	agent->hardware = clv_hardware_free(agent->hardware);
	agent->events = clv_events_free(agent->events);
	free(agent->counters);
	clv_state_close(agent);
	sd_event_unref(agent->event);
	agent->notify = clv_notify_free(agent->notify);
	nftw(world.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (count_open_pidfds() > 0 || !TAILQ_EMPTY(&world.watches)) {
		print_error("pidfds or watches were left\n");
		return -1;
	}
	return 0;
}

static void check_end(void *userdata, const struct clv_notice *notice)
{
	clv_lifecycle_check_end(world.agent.lifecycle, notice->lease);
}

static void serve(void *userdata, const struct clv_notice *notice)
{
	clv_lifecycle_serve(world.agent.lifecycle, notice->device);
}

/* The subscribers of agent/main/subscribers.c that belong to the lifecycle. */
void world_begin_lifecycle(void)
{
	struct clv_agent *agent = &world.agent;
	struct clv_error err = {0};

	assert_int_equal(clv_lifecycle_new(agent, &agent->lifecycle, &err), 0);
	clv_notify_subscribe(agent->notify, CLV_NOTICE_LEASE_LEFT, check_end, NULL);
	clv_notify_subscribe(agent->notify, CLV_NOTICE_ROOM, serve, NULL);
}

static void forget(void *userdata, const struct clv_notice *notice)
{
	clv_ephemeral_forget(world.agent.ephemeral, notice->name);
}

void world_begin_ephemeral(void)
{
	struct clv_error err = {0};

	assert_int_equal(
		clv_ephemeral_new(&world.agent, &world.agent.ephemeral, &err), 0);
	clv_notify_subscribe(world.agent.notify, CLV_NOTICE_PARTITION_KEPT, forget, NULL);
}

struct adopted {
	struct clv_lease_record records[16];
	size_t n;
};

static int take_record(void *userdata, const struct clv_lease_record *record)
{
	struct adopted *adopted = userdata;

	adopted->records[adopted->n++] = *record;
	return 0;
}

static int take_process(void *userdata, const struct clv_process_record *process)
{
	clv_attached_adopt(userdata, process);
	return 0;
}

static int take_holder(void *userdata, const struct clv_process_id *id)
{
	return clv_holder_adopt(userdata, id, NULL);
}

static void adopt(const struct clv_lease_record *record)
{
	struct clv_agent *agent = &world.agent;
	struct clv_agent_device *device =
		clv_devices_find(agent->devices, record->device_uuid);
	struct clv_lease *lease = clv_lease_new(agent, device, record);

	clv_store_read_holders(agent->state->store, record->id, take_holder, lease, NULL);
	clv_store_read_processes(
		agent->state->store, record->id, take_process, lease, NULL);
	if (clv_lifecycle_adopt(agent->lifecycle, lease, NULL) < 0)
		clv_store_delete_lease(agent->state->store, record->id, NULL);
}

/* Devices stay: only leases and what is told of them end with an agent. */
void world_restart(void)
{
	struct clv_agent *agent = &world.agent;
	struct clv_error err = {0};
	struct adopted adopted = {0};

	end_leases(agent);
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);

		clv_arbiter_free(device->arbiter);
		device->arbiter = NULL;
	}
	assert_int_equal(clv_lifecycle_new(agent, &agent->lifecycle, &err), 0);
	if (agent->ephemeral) {
		clv_ephemeral_free(agent->ephemeral);
		assert_int_equal(clv_ephemeral_new(agent, &agent->ephemeral, &err), 0);
	}
	clv_store_read_leases(agent->state->store, take_record, &adopted, NULL);
	for (size_t i = 0; i < adopted.n; i++)
		adopt(&adopted.records[i]);
}

/* --- Devices and processes --- */

static struct clv_agent_device *add_device(const struct clv_device *info)
{
	struct clv_agent_device *device = clv_devices_add(world.agent.devices, info);

	assert_non_null(device);
	device->is_present = true;
	return device;
}

struct clv_agent_device *world_device(uint64_t memory_bytes)
{
	struct clv_device info = {.model = "Double",
		.type = "gpu",
		.backend = "nvidia",
		.executor = "gate",
		.memory_bytes = memory_bytes};

	snprintf(info.uuid, sizeof(info.uuid), "GPU-%zu",
		clv_devices_count(world.agent.devices));
	return add_device(&info);
}

struct clv_agent_device *world_part(struct clv_agent_device *whole, const char *profile,
	unsigned int start, uint64_t memory_bytes)
{
	struct clv_device info = whole->info;
	struct clv_agent_device *part;

	snprintf(info.name, sizeof(info.name), "%.20s/%.30s@%u", whole->info.name,
		profile, start);
	snprintf(info.uuid, sizeof(info.uuid), "PART-%.60s", info.name);
	snprintf(info.parent, sizeof(info.parent), "%s", whole->info.uuid);
	snprintf(info.profile, sizeof(info.profile), "%s", profile);
	snprintf(info.scheme, sizeof(info.scheme), "mig");
	info.memory_bytes = memory_bytes;
	part = add_device(&info);
	part->parent = whole;
	whole->is_divided = true;
	return part;
}

struct world_process *world_find_process(pid_t pid)
{
	for (size_t i = world.n_processes; i-- > 0;) {
		if (world.processes[i].id.pid == pid)
			return &world.processes[i];
	}
	return NULL;
}

struct clv_process_id world_process(pid_t pid, pid_t parent)
{
	struct world_process *process = &world.processes[world.n_processes];

	assert_in_range(world.n_processes, 0, WORLD_PROCESSES - 1);
	*process = (struct world_process){
		.id = {.pid = pid, .start_ticks = FIRST_TICKS + world.n_processes},
		.parent = parent,
		.is_alive = true};
	world.n_processes++;
	return process->id;
}

int world_pidfd(pid_t pid)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_in_range(fd, 0, WORLD_FDS - 1);
	world.fds[fd] = pid;
	return fd;
}

struct world_watch *world_add_watch(int pidfd)
{
	struct world_watch *watch = calloc(1, sizeof(*watch));

	watch->pidfd = pidfd;
	TAILQ_INSERT_TAIL(&world.watches, watch, entry);
	return watch;
}

void world_remove_watch(struct world_watch *watch)
{
	TAILQ_REMOVE(&world.watches, watch, entry);
	world.fds[watch->pidfd] = 0;
	close(watch->pidfd);
	free(watch);
}

static struct world_watch *find_untold(pid_t pid)
{
	struct world_watch *watch;

	TAILQ_FOREACH(watch, &world.watches, entry)
	{
		if (world.fds[watch->pidfd] == pid && !watch->was_told)
			return watch;
	}
	return NULL;
}

void world_kill(pid_t pid)
{
	struct world_watch *watch;

	world_find_process(pid)->is_alive = false;
	while ((watch = find_untold(pid))) {
		watch->was_told = true;
		watch->callback(watch->userdata);
	}
}

static const char *name_of(uid_t uid)
{
	return uid == ALICE ? "alice" : uid == BOB ? "bob" : uid == CAROL ? "carol" : "x";
}

struct clv_caller world_caller(uid_t uid)
{
	struct clv_caller caller = {
		.scope = CLV_SCOPE_TENANT, .uid = uid, .gid = uid, .from = "unix"};

	snprintf(caller.subject, sizeof(caller.subject), "%s", name_of(uid));
	return caller;
}

struct clv_peer world_peer(uid_t uid, pid_t pid)
{
	struct clv_peer peer = {.uid = uid, .gid = uid};

	if (pid > 0)
		peer.id = world_find_process(pid)->id;
	return peer;
}

/* --- Leases --- */

static struct clv_lease_record record_of(
	const struct clv_agent_device *device, const struct world_lease *spec)
{
	struct clv_lease_record record = {
		.uid = spec->uid,
		.gid = spec->uid,
		.share = {.compute_ppm = spec->percent * PERCENT,
			.memory_bytes = spec->memory_bytes,
			.class = spec->class,
			.range = spec->range},
		.is_queued = spec->is_queued,
		.is_kept = spec->is_kept,
		.overcommit = spec->overcommit,
		.created_real_ns = world.real_ns,
		.expires_real_ns = spec->expires_real_ns,
	};

	clv_lease_make_id(record.id);
	snprintf(record.name, sizeof(record.name), "%s", spec->name);
	snprintf(record.tenant, sizeof(record.tenant), "%s", name_of(spec->uid));
	snprintf(record.standing, sizeof(record.standing), "%s",
		spec->standing ? spec->standing : "");
	snprintf(record.device_uuid, sizeof(record.device_uuid), "%s", device->info.uuid);
	return record;
}

struct clv_lease *world_lease(
	struct clv_agent_device *device, const struct world_lease *spec)
{
	struct clv_lease_record record = record_of(device, spec);
	struct clv_lease *lease = clv_lease_new(&world.agent, device, &record);
	struct clv_error err = {0};

	assert_non_null(lease);
	assert_int_equal(clv_ledger_add(world.agent.ledger, lease, &err), 0);
	return lease;
}

void world_drop(struct clv_lease *lease)
{
	clv_ledger_remove(world.agent.ledger, lease);
	clv_lease_free(lease);
}

struct clv_lease_request world_request(uint32_t percent)
{
	return (struct clv_lease_request){.command = "python3 train.py",
		.share = {.compute_ppm = percent * PERCENT, .class = CLV_CLASS_NORMAL},
		.has_share = true};
}

int world_create(const struct clv_lease_request *request, uid_t uid, pid_t pid,
	struct clv_lease **ret)
{
	struct clv_caller caller = world_caller(uid);
	struct clv_peer peer = world_peer(uid, pid);
	struct clv_error err = {0};
	int r = clv_lifecycle_create(world.agent.lifecycle, request, &caller, &peer,
		pid > 0 ? world_pidfd(pid) : -1, ret, &err);

	assert_int_equal(r < 0 ? err.code : 0, r < 0 ? r : 0);
	return r;
}

struct clv_attached *world_attach(struct clv_lease *lease, pid_t pid)
{
	struct clv_peer peer = world_peer(lease->record.uid, pid);
	struct clv_attached *process = NULL;
	struct clv_error err = {0};

	assert_int_equal(clv_lease_open_arbiter(lease, &peer.id, -1, &err), 0);
	assert_int_equal(
		clv_attached_attach(lease, &peer, world_pidfd(pid), 0, &process, &err),
		0);
	return process;
}

/* --- Time --- */

void world_turn(void)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		if (sd_event_run(world.agent.event, 0) == 0)
			return;
	}
	fail_msg("the loop does not come to rest");
}

static void fire_due(void)
{
	for (size_t i = 0; i < WORLD_TIMERS; i++) {
		struct world_timer timer = world.timers[i];

		if (!timer.source || timer.due_ns > world.now_ns)
			continue;
		world.timers[i].due_ns = UINT64_MAX; /* once */
		sd_event_source_ref(timer.source);
		timer.function(
			timer.source, world.now_ns / CLV_NS_PER_US, timer.userdata);
		sd_event_source_unref(timer.source);
	}
}

void world_pass_s(unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		world.now_ns += CLV_NS_PER_S;
		world.real_ns += CLV_NS_PER_S;
		fire_due();
		world_turn();
	}
}

/* --- What is so --- */

uint64_t world_n_events(enum clv_event_type type)
{
	return world.agent.counters->events[type];
}

struct search {
	const char *id;
	struct clv_lease_record *ret;
	size_t n;
	bool is_found;
};

static int find_record(void *userdata, const struct clv_lease_record *record)
{
	struct search *search = userdata;

	search->n++;
	if (search->id && strcmp(record->id, search->id) == 0) {
		search->is_found = true;
		if (search->ret)
			*search->ret = *record;
	}
	return 0;
}

bool world_stored(const char *id, struct clv_lease_record *ret)
{
	struct search search = {.id = id, .ret = ret};

	assert_int_equal(clv_store_read_leases(
				 world.agent.state->store, find_record, &search, NULL),
		0);
	return search.is_found;
}

size_t world_n_stored(void)
{
	struct search search = {0};

	assert_int_equal(clv_store_read_leases(
				 world.agent.state->store, find_record, &search, NULL),
		0);
	return search.n;
}

static bool device_lists(
	const struct clv_agent_device *device, const struct clv_lease *lease)
{
	size_t n = 0;

	for (size_t i = 0; i < device->n_leases; i++)
		n += device->leases[i] == lease;
	return n == 1;
}

static void check_lease(struct clv_lease *lease)
{
	struct clv_lease_record stored = {0};
	struct clv_agent_device *device;

	assert_ptr_equal(clv_ledger_find_id(world.agent.ledger, lease->record.id), lease);
	assert_true(clv_ledger_has_name(
		world.agent.ledger, lease->owner, lease->record.name));
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++)
		assert_true(device_lists(device, lease));
	if (world.agent.state->is_stale || !world.agent.lifecycle)
		return;
	assert_true(world_stored(lease->record.id, &stored));
	assert_int_equal(stored.is_queued, lease->record.is_queued);
	assert_int_equal(stored.share.memory_bytes, lease->record.share.memory_bytes);
}

struct sums {
	size_t n, n_queued, n_expiring, n_on_devices, n_arbiter_leases;
	int n_gates;
};

static void add_up(struct sums *sums)
{
	struct clv_lease *lease;

	TAILQ_FOREACH(lease, clv_ledger_leases(world.agent.ledger), entry)
	{
		check_lease(lease);
		sums->n++;
		sums->n_queued += lease->record.is_queued;
		sums->n_expiring += lease->record.expires_real_ns > 0;
		sums->n_on_devices += 1 + lease->n_others;
		sums->n_arbiter_leases += lease->arbiter_lease != NULL;
		sums->n_gates += lease->gate != NULL;
		assert_int_equal(lease->gate != NULL, world.agent.lifecycle &&
							      !lease->record.is_queued &&
							      !lease->is_dormant);
	}
}

/* The sums of leases without overcommit. */
static void check_device(const struct clv_agent_device *device)
{
	uint64_t memory_bytes = 0, compute_ppm = 0;

	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease_record *record = &device->leases[i]->record;

		if (record->is_queued || record->overcommit)
			continue;
		memory_bytes += record->share.memory_bytes;
		compute_ppm += clv_share_promise_ppm(&record->share);
	}
	assert_in_range(memory_bytes, 0, device->info.memory_bytes);
	assert_in_range(compute_ppm, 0, 100 * PERCENT);
}

void world_check(void)
{
	struct clv_agent *agent = &world.agent;
	struct sums sums = {0};
	size_t n_on_devices = 0;

	add_up(&sums);
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		check_device(clv_devices_at(agent->devices, i));
		n_on_devices += clv_devices_at(agent->devices, i)->n_leases;
	}
	assert_int_equal(sums.n, agent->n_leases);
	assert_int_equal(sums.n_queued, agent->n_queued);
	assert_int_equal(sums.n_expiring, agent->n_expiring);
	assert_int_equal(sums.n_on_devices, n_on_devices);
	assert_int_equal(sums.n_gates, world.n_gates);
	assert_int_equal(sums.n_arbiter_leases, world.n_arbiter_leases);
	if (!agent->state->is_stale && agent->lifecycle)
		assert_int_equal(world_n_stored(), sums.n);
}
