/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and their rows, devices, layouts and operations in the state file. */
#include "store-kinds.h"

#include "agent/record/standing-record.h"
#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LEASE "l0"

/* --- Leases --- */

static struct clv_lease_record lease_of(unsigned int v)
{
	return (struct clv_lease_record){
		.id = LEASE,
		.name = "train",
		.tenant = "@team",
		.command = "a '\"; DROP TABLE leases",
		.device_uuid = "GPU-0",
		.standing = "gpu0/train",
		.boot_id = "b",
		.uid = 4294967294u,
		.gid = 7,
		.share = {100000 * v, 200000 * v, STORE_LARGE + v, CLV_CLASS_BATCH,
			{10000 * v, 300000 * v}, STORE_LARGE + 10 + v},
		.sm = {40000 * v, 50000 * v},
		.overcommit = true,
		.is_queued = v == 1,
		.created_real_ns = STORE_LARGE,
		.expires_real_ns = STORE_LARGE + 20 + v,
		.holder = {4242, STORE_LARGE + 30},
		.is_kept = true,
		.admit = CLV_ADMIT_SOCKET,
		.vm = "vm:1",
		.held_ns = v,
		.throttled_ns = 10 + v,
		.turns = 20 + v,
		.revocations = 30 + v,
		.overdue = 40 + v,
	};
}

static void write_lease(FILE *to, const struct clv_lease_record *r)
{
	fprintf(to, "%s %s %s %s %s %s %s %s %u %u ", r->id, r->name, r->tenant,
		r->command, r->device_uuid, r->standing, r->boot_id, r->vm, r->uid,
		r->gid);
	fprintf(to, "%u %u %" PRIu64 " %d %u %u %" PRIu64 " %u %u ", r->share.compute_ppm,
		r->share.cap_ppm, r->share.memory_bytes, (int)r->share.class,
		r->share.range.least_ppm, r->share.range.most_ppm, r->share.spill_bytes,
		r->sm.ppm, r->sm.first_ppm);
	fprintf(to, "%d %d %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %d %d ", r->overcommit,
		r->is_queued, r->created_real_ns, r->expires_real_ns, (int)r->holder.pid,
		r->holder.start_ticks, r->is_kept, (int)r->admit);
	fprintf(to, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		r->held_ns, r->throttled_ns, r->turns, r->revocations, r->overdue);
}

static int put_lease(struct clv_store *store, unsigned int v)
{
	struct clv_lease_record record = lease_of(v);

	return clv_store_put_lease(store, &record, NULL);
}

static int take_out_lease(struct clv_store *store)
{
	return clv_store_delete_lease(store, LEASE, NULL);
}

static int on_lease(void *userdata, const struct clv_lease_record *record)
{
	write_lease(userdata, record);
	return 0;
}

static void read_leases(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_leases(store, on_lease, to, NULL), 0);
}

static void expect_lease(FILE *to, unsigned int v)
{
	struct clv_lease_record record = lease_of(v);

	write_lease(to, &record);
}

/* --- What belongs to a lease --- */

static int put_holder(struct clv_store *store, unsigned int v)
{
	const struct clv_process_id id = {10 + (pid_t)v, STORE_LARGE};

	put_lease(store, 1);
	return clv_store_put_holder(store, LEASE, &id, NULL);
}

static int take_out_holders(struct clv_store *store)
{
	int r = 0;

	for (pid_t pid = 11; pid <= 12 && r >= 0; pid++)
		r = clv_store_delete_holder(
			store, LEASE, &(struct clv_process_id){pid, STORE_LARGE}, NULL);
	return r;
}

static int on_holder(void *userdata, const struct clv_process_id *id)
{
	fprintf(userdata, "%d %" PRIu64 "\n", (int)id->pid, id->start_ticks);
	return 0;
}

static void read_holders(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_holders(store, LEASE, on_holder, to, NULL), 0);
}

static void expect_holder(FILE *to, unsigned int v)
{
	on_holder(to, &(struct clv_process_id){10 + (pid_t)v, STORE_LARGE});
}

static struct clv_process_record process_of(unsigned int v)
{
	return (struct clv_process_record){{10 + (pid_t)v, STORE_LARGE}, 1022 + v,
		STORE_LARGE + v, {STORE_LARGE + 2 * v, 4096 * v}, 5 + v};
}

static int put_process(struct clv_store *store, unsigned int v)
{
	struct clv_process_record process = process_of(v);

	put_lease(store, 1);
	return clv_store_put_process(store, LEASE, &process, NULL);
}

static int take_out_processes(struct clv_store *store)
{
	int r = 0;

	for (unsigned int v = 1; v <= 2 && r >= 0; v++) {
		struct clv_process_record process = process_of(v);

		r = clv_store_delete_process(store, LEASE, &process, NULL);
	}
	return r;
}

static int on_process(void *userdata, const struct clv_process_record *process)
{
	fprintf(userdata,
		"%d %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		(int)process->id.pid, process->id.start_ticks, process->slot,
		process->attached_real_ns, process->layout.code, process->layout.stack,
		process->page);
	return 0;
}

static void read_processes(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_processes(store, LEASE, on_process, to, NULL), 0);
}

static void expect_process(FILE *to, unsigned int v)
{
	struct clv_process_record process = process_of(v);

	on_process(to, &process);
}

static int put_lease_device(struct clv_store *store, unsigned int v)
{
	put_lease(store, 1);
	return clv_store_put_lease_device(
		store, LEASE, v, v == 1 ? "GPU-9" : "GPU-1", NULL);
}

static void read_lease_devices(struct clv_store *store, FILE *to)
{
	assert_int_equal(
		clv_store_read_lease_devices(store, LEASE, store_text, to, NULL), 0);
}

/* Ordered by position, not by UUID. */
static void expect_lease_device(FILE *to, unsigned int v)
{
	store_text(to, v == 1 ? "GPU-9" : "GPU-1");
}

/* --- Devices --- */

static int put_device(struct clv_store *store, unsigned int v)
{
	return clv_store_put_device(store, "GPU-0", v == 1 ? "{}" : "{\"a\": 1}", NULL);
}

static void read_device(struct clv_store *store, FILE *to)
{
	char json[64];
	int r = clv_store_get_device(store, "GPU-0", json, sizeof(json), NULL);

	assert_true(r == 0 || r == -ENOENT);
	if (r == 0)
		store_text(to, json);
}

static void expect_device(FILE *to, unsigned int v)
{
	store_text(to, v == 1 ? "{}" : "{\"a\": 1}");
}

/* --- Layouts and operations --- */

static int put_layout(struct clv_store *store, unsigned int v)
{
	return clv_store_put_layout(store, v == 1 ? "version: 1\n" : "'\n",
		v == 1 ? "" : "version: 1 # GPU-0\n", NULL);
}

static int take_out_layout(struct clv_store *store)
{
	return clv_store_put_layout(store, "", "", NULL);
}

static void read_layout(struct clv_store *store, FILE *to)
{
	_cleanup_free_ char *layout = NULL, *resolved = NULL;
	int r = clv_store_get_layout(store, &layout, &resolved, NULL);

	assert_true(r == 0 || r == -ENOENT);
	if (r < 0)
		return;
	store_text(to, layout);
	store_text(to, resolved);
}

static void expect_layout(FILE *to, unsigned int v)
{
	store_text(to, v == 1 ? "version: 1\n" : "'\n");
	store_text(to, v == 1 ? "" : "version: 1 # GPU-0\n");
}

static struct clv_journal journal_of(unsigned int v)
{
	return (struct clv_journal){.id = "o1",
		.what = "apply l.yaml",
		.state = "running",
		.error = "why",
		.uid = 4294967294u,
		.started_real_ns = STORE_LARGE,
		.step = v,
		.n_steps = 2,
		.is_for_lease = true,
		.keeps_layout = true,
		.target = "to",
		.before = "from",
		.written = "as written",
		.request = "{\"only\":true}"};
}

static void write_journal(FILE *to, const struct clv_journal *j)
{
	fprintf(to, "%s %s %s %s %u %" PRIu64 " %u %u %d %d %s %s %s %s\n", j->id,
		j->what, j->state, j->error, j->uid, j->started_real_ns, j->step,
		j->n_steps, j->is_for_lease, j->keeps_layout, j->target, j->before,
		j->written, j->request);
}

static int put_journal(struct clv_store *store, unsigned int v)
{
	struct clv_journal journal = journal_of(v);

	return clv_store_put_journal(store, &journal, NULL);
}

static int take_out_journal(struct clv_store *store)
{
	struct clv_journal journal = journal_of(2);

	snprintf(journal.state, sizeof(journal.state), "done");
	return clv_store_put_journal(store, &journal, NULL);
}

static int on_journal(void *userdata, const struct clv_journal *journal)
{
	write_journal(userdata, journal);
	return 0;
}

static void read_journal(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_journal(store, on_journal, to, NULL), 0);
}

static void expect_journal(FILE *to, unsigned int v)
{
	struct clv_journal journal = journal_of(v);

	write_journal(to, &journal);
}

static int put_made(struct clv_store *store, unsigned int v)
{
	return clv_store_put_ephemeral(store, "gpu0/1g.5gb@0", v == 2, NULL);
}

static int take_out_made(struct clv_store *store)
{
	return clv_store_delete_ephemeral(store, "gpu0/1g.5gb@0", NULL);
}

static int on_made(void *userdata, const char *name, bool turned_on)
{
	fprintf(userdata, "%s %d\n", name, turned_on);
	return 0;
}

static void read_made(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_ephemeral(store, on_made, to, NULL), 0);
}

static void expect_made(FILE *to, unsigned int v)
{
	on_made(to, "gpu0/1g.5gb@0", v == 2);
}

static struct clv_standing_share standing_of(unsigned int v)
{
	return (struct clv_standing_share){.name = "gpu0/train",
		.device_uuid = "GPU-0",
		.share = {100000 * v, 200000 * v, STORE_LARGE + v, CLV_CLASS_LATENCY,
			{10000 * v, 300000 * v}, 0}};
}

static int put_standing(struct clv_store *store, unsigned int v)
{
	struct clv_standing_share share = standing_of(v);

	return clv_store_put_standing(store, &share, NULL);
}

static int take_out_standing(struct clv_store *store)
{
	return clv_store_clear_standing(store, NULL);
}

static int on_standing(void *userdata, const struct clv_standing_share *s)
{
	fprintf(userdata, "%s %s %u %u %" PRIu64 " %d %u %u\n", s->name, s->device_uuid,
		s->share.compute_ppm, s->share.cap_ppm, s->share.memory_bytes,
		(int)s->share.class, s->share.range.least_ppm, s->share.range.most_ppm);
	return 0;
}

static void read_standing(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_standing(store, on_standing, to, NULL), 0);
}

static void expect_standing(FILE *to, unsigned int v)
{
	struct clv_standing_share share = standing_of(v);

	on_standing(to, &share);
}

/* clang-format off */
static const struct store_kind kinds[] = {
	{"lease", put_lease, take_out_lease, read_leases, expect_lease, false},
	{"holder", put_holder, take_out_holders, read_holders, expect_holder, true},
	{"process", put_process, take_out_processes, read_processes, expect_process, true},
	{"device of a lease", put_lease_device, take_out_lease, read_lease_devices,
		expect_lease_device, true},
	{"device", put_device, NULL, read_device, expect_device, false},
	{"layout", put_layout, take_out_layout, read_layout, expect_layout, false},
	{"journal", put_journal, take_out_journal, read_journal, expect_journal, false},
	{"made partition", put_made, take_out_made, read_made, expect_made, false},
	{"standing share", put_standing, take_out_standing, read_standing, expect_standing, false},
};
/* clang-format on */

int main(void)
{
	return store_kinds_run(kinds, CLV_ARRAY_SIZE(kinds));
}
