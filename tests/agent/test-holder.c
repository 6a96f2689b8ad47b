/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that hold leases: each is watched once and released once. */
#include "rows.h"

#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/record/notify.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ONE PID(1)
#define OTHER PID(2)

static struct clv_lease *begin(void)
{
	world_begin_lifecycle();
	world_process(ONE, 1);
	world_process(OTHER, 1);
	return world_lease(world_device(GIB), &(struct world_lease){"a", ALICE, 10});
}

static struct clv_lease *add_lease(const char *name)
{
	return world_lease(clv_devices_at(world.agent.devices, 0),
		&(struct world_lease){name, ALICE, 10});
}

static const struct clv_process_id *id_of(pid_t pid)
{
	return &world_find_process(pid)->id;
}

static int watch(struct clv_lease *lease, pid_t pid)
{
	return clv_holder_watch(lease, id_of(pid), world_pidfd(pid), NULL);
}

static size_t n_watches(void)
{
	struct world_watch *each;
	size_t n = 0;

	TAILQ_FOREACH(each, &world.watches, entry)
	n++;
	return n;
}

static void count_one(
	void *userdata, const struct clv_process_id *id, struct clv_lease *lease)
{
	assert_true(clv_holder_contains(lease, id));
	++*(size_t *)userdata;
}

static size_t n_holders(void)
{
	size_t n = 0;

	clv_holder_each(&world.agent, count_one, &n);
	return n;
}

/* --- What happens to one process and two leases --- */

enum happening {
	NOTHING,
	A_TAKES,  /* the process becomes a holder of lease a */
	A_ADOPTS, /* the same, from the state of an earlier agent */
	B_TAKES,
	B_ADOPTS,
	A_FORGETS,
	B_FORGETS,
	DIES,
};

struct row {
	const char *name;
	enum happening happenings[4];
	bool has_a, has_b;
	size_t n_watches;
	unsigned int n_left; /* notices that a holder has left */
};

static const struct row sequences[] = {
	{"one holds one", {A_TAKES}, true, false, 1, 0},
	{"and is taken over", {A_ADOPTS}, true, false, 1, 0},
	{"one holds two and is watched once", {A_TAKES, B_TAKES}, true, true, 1, 0},
	{"two are taken over", {A_ADOPTS, B_ADOPTS}, true, true, 1, 0},
	{"one dies", {A_TAKES, DIES}, false, false, 0, 1},
	{"one that holds two dies", {A_TAKES, B_TAKES, DIES}, false, false, 0, 2},
	{"a lease ends, the other is held", {A_TAKES, B_TAKES, A_FORGETS}, false, true, 1,
		0},
	{"and dies then", {A_TAKES, B_TAKES, A_FORGETS, DIES}, false, false, 0, 1},
	{"both leases end", {A_TAKES, B_TAKES, A_FORGETS, B_FORGETS}, false, false, 0, 0},
	{"it takes the same twice", {A_TAKES, A_TAKES}, true, false, 1, 0},
	{"and dies", {A_TAKES, A_TAKES, DIES}, false, false, 0, 1},
	{"it takes, and forgets, and takes", {A_TAKES, A_FORGETS, A_TAKES}, true, false,
		1, 0},
	{"to forget what is not held", {A_FORGETS}, false, false, 0, 0},
	{"it is taken over dead", {DIES, A_ADOPTS}, false, false, 0, 0},
};

static void happens(enum happening happening, struct clv_lease *a, struct clv_lease *b)
{
	struct clv_lease *lease =
		happening == B_TAKES || happening == B_ADOPTS || happening == B_FORGETS
			? b
			: a;

	switch (happening) {
	case A_TAKES:
	case B_TAKES:
		assert_int_equal(watch(lease, ONE), 0);
		break;
	case A_ADOPTS:
	case B_ADOPTS:
		assert_int_equal(clv_holder_adopt(lease, id_of(ONE), NULL), 0);
		break;
	case A_FORGETS:
	case B_FORGETS:
		clv_holder_forget(lease);
		break;
	case DIES:
		world_kill(ONE);
		break;
	default:
		break;
	}
}

static void test_sequence(void **state)
{
	const struct row *row = *state;
	struct clv_lease *a = begin(), *b = add_lease("b");

	for (size_t i = 0; i < 4; i++)
		happens(row->happenings[i], a, b);
	assert_int_equal(clv_holder_is_any(a), row->has_a);
	assert_int_equal(clv_holder_is_any(b), row->has_b);
	assert_int_equal(clv_holder_contains(a, id_of(ONE)), row->has_a);
	assert_int_equal(clv_holder_contains(b, id_of(ONE)), row->has_b);
	assert_int_equal(n_watches(), row->n_watches);
	assert_int_equal(n_holders(), row->n_watches);
	assert_int_equal(world.n_notices[CLV_NOTICE_LEASE_LEFT], row->n_left);
}

/* --- Who it is --- */

/* A later process with the pid of another one is not that process. */
static void test_number_given_again(void **state)
{
	struct clv_lease *lease = begin();
	struct clv_process_id before = *id_of(ONE);

	watch(lease, ONE);
	world_process(ONE, 1); /* a later process with the same pid */
	assert_false(clv_holder_contains(lease, id_of(ONE)));
	assert_true(clv_holder_contains(lease, &before));
	assert_null(clv_holder_find(&world.agent, id_of(ONE), lease->device));
	assert_ptr_equal(clv_holder_find(&world.agent, &before, lease->device), lease);
}

/* A process is no holder from its death on, even before the loop is notified of it. */
static void test_dead_before_it_is_told(void **state)
{
	struct clv_lease *lease = begin();

	watch(lease, ONE);
	world_find_process(ONE)->is_alive = false;
	assert_false(clv_holder_contains(lease, id_of(ONE)));
	assert_true(clv_holder_is_any(lease));
}

static void test_two_hold_one(void **state)
{
	struct clv_lease *lease = begin();

	watch(lease, ONE);
	watch(lease, OTHER);
	assert_int_equal(n_watches(), 2);
	world_kill(ONE);
	assert_true(clv_holder_is_any(lease));
	world_kill(OTHER);
	assert_false(clv_holder_is_any(lease));
}

/* A process that holds several leases is found as holder of the active one on the device.
 */
static void test_find(void **state)
{
	struct clv_lease *here = begin();
	struct clv_agent_device *device = here->device, *elsewhere = world_device(GIB);
	struct clv_lease *there =
		world_lease(elsewhere, &(struct world_lease){"b", ALICE, 10});

	watch(there, ONE);
	assert_ptr_equal(clv_holder_find(&world.agent, id_of(ONE), device), there);
	watch(here, ONE);
	assert_ptr_equal(clv_holder_find(&world.agent, id_of(ONE), device), here);
	assert_ptr_equal(clv_holder_find(&world.agent, id_of(ONE), elsewhere), there);
	here->record.is_queued = true;
	assert_ptr_not_equal(clv_holder_find(&world.agent, id_of(OTHER), device), here);
	assert_null(clv_holder_find(&world.agent, id_of(OTHER), device));
	here->record.is_queued = false;
}

/* --- Joining, and what is stored --- */

struct stored {
	pid_t pids[4];
	size_t n;
};

static int take_stored(void *userdata, const struct clv_process_id *id)
{
	struct stored *stored = userdata;

	stored->pids[stored->n++] = id->pid;
	return 0;
}

static struct stored read_stored(const struct clv_lease *lease)
{
	struct stored stored = {0};

	assert_int_equal(clv_store_read_holders(world.agent.state->store,
				 lease->record.id, take_stored, &stored, NULL),
		0);
	return stored;
}

/* Rows of processes that joined are stored with the lease's row. */
static struct clv_lease *begin_stored(void)
{
	struct clv_lease *lease = begin();

	lease->record.holder = *id_of(ONE);
	lease->record.uid = geteuid();
	assert_int_equal(
		clv_store_put_lease(world.agent.state->store, &lease->record, NULL), 0);
	watch(lease, ONE);
	return lease;
}

struct join_row {
	const char *name;
	bool is_other_user, is_admin, is_gone, no_disk, no_watch;
	const char *tenant, *cgroup; /* of the lease; of the process */
	int code;
};

static const struct join_row joins[] = {
	{"a process of the lease's user", .code = 0},
	{"another user's", .is_other_user = true, .code = -EPERM},
	{"another user's, by an admin", .is_other_user = true, .is_admin = true,
		.code = 0},
	{"one that is not there", .is_gone = true, .code = -ENOENT},
	{"one of the tenant's cgroup", .tenant = "@team", .cgroup = "/team/a", .code = 0},
	{"the user's, outside of the tenant's cgroup", .tenant = "@team", .code = -EPERM},
	{"the user's, in another cgroup", .tenant = "@team", .cgroup = "/lab",
		.code = -EPERM},
	{"the user's, in another cgroup, by an admin", .tenant = "@team",
		.cgroup = "/lab", .is_admin = true, .code = 0},
	{"the user's, in the cgroup of a tenant", .cgroup = "/lab", .code = -EPERM},
	{"the user's, in a cgroup of no tenant", .cgroup = "/user", .code = 0},
	{"without a state file", .no_disk = true, .code = -EIO},
	{"without memory", .no_watch = true, .code = -ENOMEM},
};

static struct clv_config_tenant cgroups[] = {
	{.who = {.name = "@team", .cgroup = "/team/*"}},
	{.who = {.name = "@lab", .cgroup = "/lab"}},
};

/* The test's own process is the only one whose user the kernel knows. */
static void test_join(void **state)
{
	const struct join_row *row = *state;
	struct clv_lease *lease = begin_stored();
	struct clv_caller caller = world_caller(ALICE);
	struct clv_error err = {0};

	world_process(getpid(), 1);
	world_find_process(getpid())->is_alive = !row->is_gone;
	world_find_process(getpid())->cgroup = row->cgroup;
	world.settings.tenants = cgroups;
	world.settings.n_tenants = 2;
	if (row->tenant)
		snprintf(lease->record.tenant, sizeof(lease->record.tenant), "%s",
			row->tenant);
	lease->record.uid += row->is_other_user;
	caller.scope = row->is_admin ? CLV_SCOPE_ADMIN : CLV_SCOPE_TENANT;
	world.agent.state->is_copy = row->no_disk;
	world.agent.state->code = -EIO;
	world.no_watch = row->no_watch;
	assert_int_equal(clv_holder_add(lease, getpid(), &caller, &err), row->code);
	assert_int_equal(err.code, row->code);
	world.agent.state->is_copy = false;
	assert_int_equal(clv_holder_contains(lease, id_of(getpid())), row->code == 0);
	assert_int_equal(n_watches(), row->code == 0 ? 2 : 1);
	assert_int_equal(read_stored(lease).n, row->code == 0);
}

/* The row goes with the process; the first holder is in the lease's own row. */
static void test_stored(void **state)
{
	struct clv_lease *lease = begin_stored();
	struct stored stored;

	watch(lease, OTHER);
	assert_int_equal(clv_holder_store(lease, NULL), 0);
	stored = read_stored(lease);
	assert_int_equal(stored.n, 1);
	assert_int_equal(stored.pids[0], OTHER);
	world_kill(ONE);
	assert_int_equal(read_stored(lease).n, 1);
	world_kill(OTHER);
	assert_int_equal(read_stored(lease).n, 0);
	assert_false(world.agent.state->is_stale);
}

/* A row that cannot be deleted now makes the state stale, and is deleted later. */
static void test_death_without_disk(void **state)
{
	struct clv_lease *lease = begin_stored();

	watch(lease, OTHER);
	clv_holder_store(lease, NULL);
	world.agent.state->is_copy = true;
	world_kill(OTHER);
	world.agent.state->is_copy = false;
	assert_true(world.agent.state->is_stale);
	assert_true(clv_holder_is_any(lease));
}

/* A process that had joined and ended while no agent was running. */
static void test_adopts_dead_joined(void **state)
{
	struct clv_lease *lease = begin_stored();

	watch(lease, OTHER);
	clv_holder_store(lease, NULL);
	clv_holder_forget(lease);
	world_find_process(OTHER)->is_alive = false;
	assert_int_equal(clv_holder_adopt(lease, id_of(OTHER), NULL), 0);
	assert_int_equal(read_stored(lease).n, 0);
	assert_false(clv_holder_is_any(lease));
}

static void test_kept_has_none(void **state)
{
	struct clv_lease *lease = begin();
	const struct clv_process_id none = {0};

	assert_int_equal(clv_holder_adopt(lease, &none, NULL), 0);
	assert_false(clv_holder_is_any(lease));
	assert_int_equal(n_watches(), 0);
}

static void test_no_memory(void **state)
{
	struct clv_lease *lease = begin();
	struct clv_error err = {0};

	world.no_watch = true;
	assert_int_equal(
		clv_holder_watch(lease, id_of(ONE), world_pidfd(ONE), &err), -ENOMEM);
	assert_int_equal(err.code, -ENOMEM);
	assert_false(clv_holder_is_any(lease));
	assert_int_equal(n_holders(), 0);
}

/* The process that requested the lease may have joined it as well, and holds it once. */
static void test_adopts_once(void **state)
{
	struct clv_lease *lease = begin();

	assert_int_equal(clv_holder_adopt(lease, id_of(ONE), NULL), 0);
	assert_int_equal(clv_holder_adopt(lease, id_of(ONE), NULL), 0);
	world_kill(ONE);
	assert_int_equal(world.n_notices[CLV_NOTICE_LEASE_LEFT], 1);
}

int main(void)
{
	static struct rows rows;

	ROWS_ADD(&rows, sequences, test_sequence);
	ROWS_ADD(&rows, joins, test_join);
	ROWS_ONE(&rows, test_number_given_again);
	ROWS_ONE(&rows, test_dead_before_it_is_told);
	ROWS_ONE(&rows, test_two_hold_one);
	ROWS_ONE(&rows, test_find);
	ROWS_ONE(&rows, test_stored);
	ROWS_ONE(&rows, test_death_without_disk);
	ROWS_ONE(&rows, test_adopts_dead_joined);
	ROWS_ONE(&rows, test_kept_has_none);
	ROWS_ONE(&rows, test_no_memory);
	ROWS_ONE(&rows, test_adopts_once);
	return rows_run(&rows);
}
