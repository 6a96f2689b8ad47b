/* SPDX-License-Identifier: Apache-2.0 */
/* The state file: records are read as they were written, also after a kill; a failed
 * write changes nothing. */
#include "agent/store/store.h"

#include "agent/record/lease-fields.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_ENOUGH 600 /* pages of the log, and more */
#define LONG 10000
#define LOG_MAX_BYTES (48u << 20)

struct place {
	char folder[64];
	char path[96];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	strcpy(place->folder, "/tmp/clv-store-XXXXXX");
	if (!mkdtemp(place->folder))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/s.db", place->folder);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
	struct place *place = *state;
	char path[128];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", place->path, endings[i]);
		unlink(path);
	}
	rmdir(place->folder);
	free(place);
	return 0;
}

static struct clv_store *open_store(const struct place *place)
{
	struct clv_store *store = NULL;
	struct clv_error err = {0};

	if (clv_store_open(place->path, &store, &err) < 0)
		fail_msg("%s", err.msg);
	return store;
}

static struct clv_lease_record make_lease(const char *id)
{
	struct clv_lease_record lease = {
		.name = "train",
		.tenant = "alice",
		.command = "python3 \"'; DROP",
		.device_uuid = "u-1",
		.boot_id = "b-1",
		.uid = 4294967294u,
		.gid = 7,
		.share = {300000, 500000, UINT64_C(1) << 62, CLV_CLASS_LATENCY,
			{100000, 400000}, UINT64_C(1) << 61},
		.sm = {250000, 500000},
		.overcommit = true,
		.is_queued = true,
		.created_real_ns = UINT64_C(1780000000123456789),
		.holder = {4242, UINT64_C(99999999999)},
		.held_ns = 1,
		.throttled_ns = 2,
		.turns = 3,
		.revocations = 4,
		.overdue = 5,
	};

	snprintf(lease.id, sizeof(lease.id), "%s", id);
	return lease;
}

struct found {
	struct clv_lease_record leases[8];
	struct clv_process_record processes[8];
	size_t n;
};

static int find_lease(void *userdata, const struct clv_lease_record *lease)
{
	struct found *found = userdata;

	found->leases[found->n++] = *lease;
	return 0;
}

static int find_process(void *userdata, const struct clv_process_record *process)
{
	struct found *found = userdata;

	found->processes[found->n++] = *process;
	return 0;
}

static void test_lease_round_trip(void **state)
{
	struct clv_lease_record lease = make_lease("l1"), other = make_lease("l0");
	struct clv_store *store = open_store(*state);
	struct found found = {0};

	assert_int_equal(clv_store_put_lease(store, &lease, NULL), 0);
	assert_int_equal(clv_store_put_lease(store, &other, NULL), 0);
	clv_store_free(store);
	store = open_store(*state);
	assert_int_equal(clv_store_read_leases(store, find_lease, &found, NULL), 0);
	assert_int_equal(found.n, 2);
	assert_memory_equal(&found.leases[0].share, &lease.share, sizeof(lease.share));
	assert_string_equal(found.leases[0].id, "l1"); /* oldest first, not by id */
	assert_string_equal(found.leases[0].command, lease.command);
	assert_int_equal(found.leases[0].uid, lease.uid);
	assert_int_equal(found.leases[0].created_real_ns, lease.created_real_ns);
	assert_int_equal(found.leases[0].holder.start_ticks, lease.holder.start_ticks);
	assert_true(found.leases[0].is_queued && found.leases[0].overcommit);
	assert_int_equal(found.leases[0].overdue, 5);

	/* An update keeps the row's position in the queue. */
	lease.is_queued = false;
	lease.share.cap_ppm = 0;
	assert_int_equal(clv_store_put_lease(store, &lease, NULL), 0);
	found.n = 0;
	clv_store_read_leases(store, find_lease, &found, NULL);
	assert_string_equal(found.leases[0].id, "l1");
	assert_false(found.leases[0].is_queued);
	assert_int_equal(found.leases[0].share.cap_ppm, 0);
	clv_store_free(store);
}

static void test_processes_go_with_their_lease(void **state)
{
	struct clv_lease_record lease = make_lease("l1");
	struct clv_process_record a = {{10, 100}, 0, 5}, b = {{11, 101}, 1023, 6};
	struct clv_store *store = open_store(*state);
	struct found found = {0};

	/* A process of no lease is refused: foreign keys are on. */
	assert_int_equal(clv_store_put_process(store, "l1", &a, NULL), -EIO);
	clv_store_put_lease(store, &lease, NULL);
	assert_int_equal(clv_store_put_process(store, "l1", &a, NULL), 0);
	assert_int_equal(clv_store_put_process(store, "l1", &b, NULL), 0);
	assert_int_equal(clv_store_delete_process(store, "l1", &a, NULL), 0);
	clv_store_read_processes(store, "l1", find_process, &found, NULL);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.processes[0].slot, 1023);
	assert_int_equal(clv_store_delete_lease(store, "l1", NULL), 0);
	found.n = 0;
	clv_store_read_processes(store, "l1", find_process, &found, NULL);
	assert_int_equal(found.n, 0);
	clv_store_free(store);
}

static int count_events(void *userdata, const struct clv_event *event)
{
	uint64_t *counts = userdata;

	counts[0]++;
	counts[1] = event->id;
	if (counts[2] == 0)
		counts[2] = event->id;
	return 0;
}

static void test_events_are_kept_within_bounds(void **state)
{
	struct clv_store *store = open_store(*state);
	const struct clv_event_bounds bounds = {19, 100, 0};
	struct clv_event events[10];
	uint64_t counts[3] = {0}, last = 0;

	for (uint64_t i = 0; i < 100; i++) {
		events[i % 10] =
			(struct clv_event){.id = i + 1, .uid = i % 2 ? 1000 : 1001};
		if (i % 10 == 9)
			assert_int_equal(
				clv_store_add_events(store, events, 10, &bounds, NULL),
				0);
	}
	clv_store_read_events(store, 0, 1000, true, 0, count_events, counts, NULL);
	assert_int_equal(counts[0], 19);
	assert_int_equal(counts[2], 82);
	memset(counts, 0, sizeof(counts));
	clv_store_read_events(store, 90, 1000, false, 1000, count_events, counts, NULL);
	assert_int_equal(counts[0], 5);
	memset(counts, 0, sizeof(counts));
	clv_store_read_events(store, 90, 3, true, 0, count_events, counts, NULL);
	assert_int_equal(counts[1], 93);
	clv_store_last_event(store, &last, NULL);
	assert_int_equal(last, 100);
	clv_store_free(store);
}

/* A tenant with many events does not displace the events of others. */
static void test_events_of_one(void **state)
{
	const struct clv_event_bounds bounds = {1000, 100, 7};
	struct clv_event events[10];
	struct clv_store *store = open_store(*state);
	uint64_t counts[3] = {0};

	for (uint64_t i = 0; i < 2000; i++) {
		events[i % 10] = (struct clv_event){.id = i + 1,
			.uid = i < 50   ? 1000
			       : i < 60 ? CLV_EVENT_NO_OWNER
					: 1001};
		if (i % 10 == 9)
			assert_int_equal(
				clv_store_add_events(store, events, 10, &bounds, NULL),
				0);
	}
	clv_store_read_events(store, 0, 9999, true, 0, count_events, counts, NULL);
	assert_in_range(counts[0], 60 + 100, 60 + 100 + 100 / 4 + 10);
	memset(counts, 0, sizeof(counts));
	clv_store_read_events(store, 0, 9999, false, 1000, count_events, counts, NULL);
	assert_int_equal(counts[0], 60);
	clv_store_free(store);
}

static int use_key(
	struct clv_store *store, const char *subject, unsigned int number, bool is_new)
{
	struct clv_key_record key = {.request = "POST 1234", .object = "l1"};

	snprintf(key.subject, sizeof(key.subject), "%s", subject);
	snprintf(key.key, sizeof(key.key), "k%u", number);
	return is_new ? clv_store_put_key(store, &key, NULL)
		      : clv_store_get_key(store, &key, NULL);
}

static void test_the_oldest_keys_of_a_caller_go(void **state)
{
	struct clv_store *store = open_store(*state);

	clv_store_begin(store, true, NULL);
	assert_int_equal(use_key(store, "bob", 0, true), 0);
	for (unsigned int i = 0; i <= CLV_KEYS_KEPT; i++)
		assert_int_equal(use_key(store, "alice", i, true), 0);
	clv_store_commit(store, NULL);
	assert_int_equal(use_key(store, "alice", 0, false), -ENOENT);
	assert_int_equal(use_key(store, "alice", 1, false), 0);
	assert_int_equal(use_key(store, "alice", CLV_KEYS_KEPT, false), 0);
	assert_int_equal(use_key(store, "bob", 0, false), 0);
	clv_store_free(store);
}

static void test_rollback(void **state)
{
	struct clv_lease_record lease = make_lease("l1");
	struct clv_store *store = open_store(*state);
	struct found found = {0};

	clv_store_begin(store, false, NULL);
	clv_store_put_lease(store, &lease, NULL);
	clv_store_rollback(store);
	clv_store_read_leases(store, find_lease, &found, NULL);
	assert_int_equal(found.n, 0);
	clv_store_free(store);
}

static void test_survives_a_kill(void **state)
{
	struct found found = {0};
	struct clv_store *store;
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct clv_lease_record lease = make_lease("l1");
		struct clv_process_record process = {{10, 100}, 3, 5};

		store = open_store(*state);
		clv_store_put_lease(store, &lease, NULL);
		clv_store_put_process(store, "l1", &process, NULL);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	store = open_store(*state);
	clv_store_read_leases(store, find_lease, &found, NULL);
	assert_int_equal(found.n, 1);
	found.n = 0;
	clv_store_read_processes(store, "l1", find_process, &found, NULL);
	assert_int_equal(found.n, 1);
	clv_store_free(store);
}

static int count_process(void *userdata, const struct clv_process_record *process)
{
	++*(unsigned int *)userdata;
	return 0;
}

/* The log is checkpointed while more is written to it. */
static void test_long_log(void **state)
{
	const struct place *place = *state;
	struct clv_lease_record lease = make_lease("l1");
	struct clv_store *store;
	unsigned int n = 0;
	struct stat st;
	char log[128];
	int status;
	pid_t child = fork();

	if (child == 0) {
		store = open_store(*state);
		clv_store_put_lease(store, &lease, NULL);
		for (int i = 0; i < LONG; i++) {
			struct clv_process_record process = {{i, 100}, 3, 5};

			clv_store_put_process(store, "l1", &process, NULL);
		}
		kill(getpid(), SIGKILL);
	}
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	snprintf(log, sizeof(log), "%s-wal", place->path);
	assert_int_equal(stat(log, &st), 0);
	assert_in_range(st.st_size, 1, LOG_MAX_BYTES);
	store = open_store(*state);
	clv_store_read_processes(store, "l1", count_process, &n, NULL);
	assert_int_equal(n, LONG);
	clv_store_free(store);
}

static off_t log_bytes(const struct place *place)
{
	char log[128];
	struct stat st;

	snprintf(log, sizeof(log), "%s-wal", place->path);
	assert_int_equal(stat(log, &st), 0);
	return st.st_size;
}

/* The sync of a file that has grown takes longer. */
static void test_log_grows_in_steps(void **state)
{
	struct clv_lease_record lease = make_lease("l1");
	struct clv_store *store = open_store(*state);
	unsigned int n = 0, n_grown = 0;
	off_t before;

	clv_store_put_lease(store, &lease, NULL);
	for (int i = 0; i < LONG_ENOUGH; i++) {
		struct clv_process_record process = {{i, 100}, 3, 5};

		before = log_bytes(*state);
		assert_int_equal(clv_store_put_process(store, "l1", &process, NULL), 0);
		n_grown += i >= LONG_ENOUGH / 2 && log_bytes(*state) != before;
	}
	assert_in_range(n_grown, 1, LONG_ENOUGH / 2 / 50);
	clv_store_free(store);
	store = open_store(*state);
	clv_store_read_processes(store, "l1", count_process, &n, NULL);
	assert_int_equal(n, LONG_ENOUGH);
	clv_store_free(store);
}

/* Another agent is another process, which opened the file before this one. */
static void test_one_at_a_time(void **state)
{
	const struct place *place = *state;
	struct clv_store *store = NULL;
	int start[2], status;
	pid_t child;

	assert_int_equal(pipe(start), 0);
	child = fork();
	if (child == 0) {
		struct clv_error err = {0};
		char byte;

		if (read(start[0], &byte, 1) != 1 ||
			clv_store_open(place->path, &store, &err) != -EBUSY)
			_exit(1);
		_exit(!store && strstr(err.msg, place->path) ? 0 : 2);
	}
	store = open_store(place);
	assert_int_equal(write(start[1], "", 1), 1);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	close(start[0]);
	close(start[1]);
	clv_store_free(store);
}

static void drop_columns_since(sqlite3 *db, int version)
{
	for (size_t i = 0; i < clv_lease_fields.n; i++) {
		const struct clv_field *field = &clv_lease_fields.rows[i];
		char sql[128];

		if (!field->column || field->since < version)
			continue;
		snprintf(sql, sizeof(sql), "ALTER TABLE leases DROP COLUMN %s",
			field->column);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	}
}

/* A file from before the fields for ranges, spill and limits in space. */
static void test_earlier_schema(void **state)
{
	static const char *const before[] = {
		"ALTER TABLE audit DROP COLUMN by_admin",
		"ALTER TABLE processes DROP COLUMN code",
		"ALTER TABLE processes DROP COLUMN stack",
		"ALTER TABLE processes DROP COLUMN page",
		"DROP TABLE names",
		"ALTER TABLE layout DROP COLUMN resolved",
		"ALTER TABLE journal DROP COLUMN written",
		"ALTER TABLE journal DROP COLUMN request",
		"DROP TABLE debts",
		"DROP TABLE holders",
		"ALTER TABLE standing DROP COLUMN least_ppm",
		"ALTER TABLE standing DROP COLUMN most_ppm",
		"PRAGMA user_version=4",
	};
	struct clv_lease_record lease = make_lease("l1");
	struct clv_store *store = open_store(*state);
	const struct place *place = *state;
	struct found found = {0};
	sqlite3 *db;

	assert_int_equal(clv_store_put_lease(store, &lease, NULL), 0);
	clv_store_free(store);
	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	drop_columns_since(db, 5);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(before); i++)
		assert_int_equal(
			sqlite3_exec(db, before[i], NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);

	store = open_store(*state);
	assert_int_equal(clv_store_read_leases(store, find_lease, &found, NULL), 0);
	assert_int_equal(found.n, 1);
	assert_int_equal(found.leases[0].share.compute_ppm, 300000);
	assert_int_equal(found.leases[0].share.range.most_ppm, 0);
	assert_int_equal(found.leases[0].share.spill_bytes, 0);
	assert_int_equal(found.leases[0].sm.ppm, 0);
	assert_int_equal(clv_store_put_lease(store, &lease, NULL), 0);
	found.n = 0;
	clv_store_read_leases(store, find_lease, &found, NULL);
	assert_int_equal(found.leases[0].share.range.most_ppm, 400000);
	assert_int_equal(found.leases[0].sm.ppm, 250000);
	assert_int_equal(found.leases[0].sm.first_ppm, 500000);
	clv_store_free(store);
}

/* Version 13 had no column for an admin's entries of the audit. */
static void test_schema_13(void **state)
{
	struct clv_store *store = open_store(*state);
	const struct place *place = *state;
	struct clv_audit_record record = {.action = "lease.create", .result = "ok"};
	struct clv_audit_bounds bounds = {.all = 10, .of_one = 10};
	sqlite3 *db;

	clv_store_free(store);
	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				 "ALTER TABLE audit DROP COLUMN by_admin;"
				 "ALTER TABLE journal DROP COLUMN request",
				 NULL, NULL, NULL),
		SQLITE_OK);
	drop_columns_since(db, 14);
	sqlite3_exec(db, "PRAGMA user_version=13", NULL, NULL, NULL);
	sqlite3_close(db);

	store = open_store(*state);
	assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	clv_store_free(store);
}

static void test_later_schema(void **state)
{
	struct clv_store *store = open_store(*state);
	const struct place *place = *state;
	struct clv_error err = {0};
	sqlite3 *db;

	clv_store_free(store);
	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL);
	sqlite3_close(db);
	store = NULL;
	assert_int_equal(clv_store_open(place->path, &store, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "99"));
}

static void test_no_room(void **state)
{
	struct clv_lease_record lease = make_lease("l1");
	struct clv_store *store = open_store(*state);
	struct rlimit before, small = {65536, 65536};
	struct found found = {0};
	struct clv_error err = {0};
	int r = 0, n = 0;

	/* A file-size limit acts as a full disk does, without one. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	for (n = 0; n < 1000 && r == 0; n++) {
		snprintf(lease.id, sizeof(lease.id), "l%d", n);
		r = clv_store_put_lease(store, &lease, &err);
	}
	setrlimit(RLIMIT_FSIZE, &before);
	assert_in_range(-r, 1, 200);
	assert_int_equal(err.code, r);
	snprintf(lease.id, sizeof(lease.id), "after");
	assert_int_equal(clv_store_put_lease(store, &lease, NULL), 0);
	clv_store_free(store);
	store = open_store(*state);
	if (n < 8) {
		clv_store_read_leases(store, find_lease, &found, NULL);
		assert_int_equal(found.n, n);
	}
	clv_store_free(store);
}

static int count_audit(void *userdata, const struct clv_audit_record *record)
{
	unsigned int *n = userdata;

	n[strcmp(record->subject, "loud") == 0]++;
	return 0;
}

/* A caller with many audit entries does not displace those of others. */
static void test_audit_is_kept_within_bounds(void **state)
{
	struct clv_store *store = open_store(*state);
	struct clv_audit_bounds bounds = {.all = 3000, .of_one = 500};
	struct clv_audit_record record = {.action = "lease.create", .result = "ok"};
	unsigned int n[2] = {0};

	snprintf(record.subject, sizeof(record.subject), "quiet");
	assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	snprintf(record.subject, sizeof(record.subject), "loud");
	for (int i = 1; i < 2000; i++)
		assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	clv_store_read_audit(store, 0, 10000, count_audit, n, NULL);
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], 500);
	bounds.of_one = 0;
	for (int i = 0; i < 5000; i++)
		assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	n[0] = n[1] = 0;
	clv_store_read_audit(store, 0, 10000, count_audit, n, NULL);
	assert_int_equal(n[0] + n[1], 3000);
	clv_store_free(store);
}

/* Many callers do not displace what admins have changed, nor admins what others have. */
static void test_audit_of_admins(void **state)
{
	struct clv_store *store = open_store(*state);
	struct clv_audit_bounds bounds = {.all = 1000, .of_one = 500};
	struct clv_audit_record record = {.action = "device.cordon", .by_admin = true};
	unsigned int n[2] = {0};

	snprintf(record.subject, sizeof(record.subject), "root");
	for (int i = 0; i < 500; i++)
		assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	record.by_admin = false;
	for (int i = 0; i < 5500; i++) {
		snprintf(record.subject, sizeof(record.subject), i % 2 ? "loud" : "t%d",
			i);
		assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	}
	clv_store_read_audit(store, 0, 10000, count_audit, n, NULL);
	assert_int_equal(n[0] + n[1], 500 + 1000);
	snprintf(record.subject, sizeof(record.subject), "root");
	record.by_admin = true;
	for (int i = 0; i < 3000; i++)
		assert_int_equal(clv_store_add_audit(store, &record, &bounds, NULL), 0);
	n[0] = n[1] = 0;
	clv_store_read_audit(store, 0, 10000, count_audit, n, NULL);
	assert_int_equal(n[0] + n[1], 1000 + 1000);
	clv_store_free(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lease_round_trip),
		TEST(test_processes_go_with_their_lease),
		TEST(test_events_are_kept_within_bounds),
		TEST(test_events_of_one),
		TEST(test_the_oldest_keys_of_a_caller_go),
		TEST(test_rollback),
		TEST(test_survives_a_kill),
		TEST(test_long_log),
		TEST(test_log_grows_in_steps),
		TEST(test_one_at_a_time),
		TEST(test_earlier_schema),
		TEST(test_schema_13),
		TEST(test_later_schema),
		TEST(test_no_room),
		TEST(test_audit_is_kept_within_bounds),
		TEST(test_audit_of_admins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
