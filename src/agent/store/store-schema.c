/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of the state file, by version.  A file of an earlier version is upgraded one
 * version at a time.  Columns of leases since version 10 are derived from their table of
 * fields; those of earlier versions are spelled out here as they were released. */
#include "agent/record/lease-fields.h"
#include "agent/store/store-fields.h"
#include "agent/store/store-internal.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FROM_FIELDS 10 /* the first version whose columns are derived from fields */

static const char schema_1[] =
	"CREATE TABLE leases(id TEXT PRIMARY KEY,name TEXT,tenant TEXT,command TEXT,"
	"device_uuid TEXT,boot_id TEXT,uid INTEGER,gid INTEGER,compute_ppm INTEGER,"
	"cap_ppm INTEGER,memory_bytes INTEGER,class TEXT,overcommit INTEGER,"
	"is_queued INTEGER,created_ns INTEGER,holder_pid INTEGER,holder_start INTEGER,"
	"held_ns INTEGER,throttled_ns INTEGER,turns INTEGER,revocations INTEGER,"
	"overdue INTEGER);"
	"CREATE TABLE processes(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,"
	"pid INTEGER,start_ticks INTEGER,slot INTEGER,attached_ns INTEGER,"
	"PRIMARY KEY(lease,pid,start_ticks,slot));"
	"CREATE TABLE devices(uuid TEXT PRIMARY KEY,json TEXT);"
	"CREATE TABLE events(id INTEGER PRIMARY KEY,time_ns INTEGER,type TEXT,"
	"lease TEXT,name TEXT,device TEXT,uid INTEGER,message TEXT);";

static const char schema_2[] =
	"CREATE TABLE journal(id TEXT PRIMARY KEY,what TEXT,state TEXT,error TEXT,"
	"uid INTEGER,started_ns INTEGER,step INTEGER,n_steps INTEGER,target TEXT,"
	"before TEXT,keeps_layout INTEGER,for_lease INTEGER);"
	"CREATE TABLE made(name TEXT PRIMARY KEY,turned_on INTEGER);"
	"CREATE TABLE layout(id INTEGER PRIMARY KEY CHECK(id=1),text TEXT);"
	"CREATE TABLE standing(name TEXT PRIMARY KEY,device_uuid TEXT,"
	"compute_ppm INTEGER,cap_ppm INTEGER,memory_bytes INTEGER,class TEXT);"
	"ALTER TABLE leases ADD COLUMN standing TEXT DEFAULT '';";

static const char schema_3[] =
	"CREATE TABLE lease_devices(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,"
	"position INTEGER,device_uuid TEXT,PRIMARY KEY(lease,position));"
	"ALTER TABLE journal ADD COLUMN json TEXT DEFAULT '';";

static const char schema_4[] =
	"CREATE TABLE tokens(id TEXT PRIMARY KEY,name TEXT,scope TEXT,tenant TEXT,"
	"hash BLOB,created_ns INTEGER,expires_ns INTEGER);"
	"CREATE TABLE keys(subject TEXT,key TEXT,request TEXT,object TEXT,"
	"time_ns INTEGER,PRIMARY KEY(subject,key));"
	"CREATE TABLE audit(id INTEGER PRIMARY KEY AUTOINCREMENT,time_ns INTEGER,"
	"subject TEXT,uid INTEGER,token TEXT,origin TEXT,action TEXT,object TEXT,"
	"detail TEXT,result TEXT);"
	"CREATE TABLE cordons(uuid TEXT PRIMARY KEY,reason TEXT);"
	"ALTER TABLE leases ADD COLUMN expires_ns INTEGER DEFAULT 0;";

static const char schema_5[] =
	"ALTER TABLE leases ADD COLUMN least_ppm INTEGER DEFAULT 0;"
	"ALTER TABLE leases ADD COLUMN most_ppm INTEGER DEFAULT 0;"
	"ALTER TABLE standing ADD COLUMN least_ppm INTEGER DEFAULT 0;"
	"ALTER TABLE standing ADD COLUMN most_ppm INTEGER DEFAULT 0;";

static const char schema_6[] =
	"ALTER TABLE leases ADD COLUMN spill_bytes INTEGER DEFAULT 0;";

static const char schema_7[] =
	"ALTER TABLE leases ADD COLUMN sm_ppm INTEGER DEFAULT 0;"
	"ALTER TABLE leases ADD COLUMN sm_first_ppm INTEGER DEFAULT 0;";

/* holders: the processes that joined a lease, besides the one that requested it. */
static const char schema_8[] =
	"CREATE TABLE holders(lease TEXT REFERENCES leases(id) ON DELETE CASCADE,"
	"pid INTEGER,start_ticks INTEGER,PRIMARY KEY(lease,pid,start_ticks));"
	"ALTER TABLE leases ADD COLUMN is_kept INTEGER DEFAULT 0;"
	"ALTER TABLE leases ADD COLUMN admit TEXT DEFAULT 'holders';";

static const char schema_9[] =
	"CREATE TABLE debts(device_uuid TEXT,tenant TEXT,weight_ppm INTEGER,class TEXT,"
	"debt_ns INTEGER);";

/* names: of whole devices, by UUID.  resolved: the layout with its devices by UUID; ''
 * where an earlier version has stored it.  written: a target as its user wrote it. */
static const char schema_10[] = "CREATE TABLE names(uuid TEXT PRIMARY KEY,name TEXT);"
				"ALTER TABLE layout ADD COLUMN resolved TEXT DEFAULT '';"
				"ALTER TABLE journal ADD COLUMN written TEXT DEFAULT '';";

/* Version 11 has only columns of leases. */
static const char schema_11[] = "";

static const char schema_12[] =
	"ALTER TABLE processes ADD COLUMN code INTEGER DEFAULT 0;"
	"ALTER TABLE processes ADD COLUMN stack INTEGER DEFAULT 0;"
	"ALTER TABLE processes ADD COLUMN page INTEGER DEFAULT 0;";

/* Version 13 has only columns of leases. */
static const char schema_13[] = "";

/* by_admin: unknown for earlier entries, which are kept as those of admins are. */
static const char schema_14[] =
	"ALTER TABLE audit ADD COLUMN by_admin INTEGER DEFAULT 1;";

/* request: what an operation was asked for, besides its layout. */
static const char schema_15[] = "ALTER TABLE journal ADD COLUMN request TEXT DEFAULT '';";

/* Entry v - 1 upgrades version v - 1 to version v. */
static const char *const schemas[] = {schema_1, schema_2, schema_3, schema_4, schema_5,
	schema_6, schema_7, schema_8, schema_9, schema_10, schema_11, schema_12,
	schema_13, schema_14, schema_15};

int clv_store_version(void)
{
	int version = (int)CLV_ARRAY_SIZE(schemas);
	int of_fields = clv_store_fields_version(&clv_lease_fields);

	return of_fields > version ? of_fields : version;
}

/* Returns the statements of the upgrade to this version, to be freed; NULL: out of
 * memory. */
static char *make_upgrade(int version)
{
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&text, &n_bytes);

	if (!out)
		return NULL;
	fputs("BEGIN IMMEDIATE;", out);
	if (version <= (int)CLV_ARRAY_SIZE(schemas))
		fputs(schemas[version - 1], out);
	if (version >= FROM_FIELDS)
		clv_store_fields_add_columns(out, "leases", &clv_lease_fields, version);
	fprintf(out, "PRAGMA user_version=%d;COMMIT;", version);
	return fclose(out) == 0 ? text : NULL;
}

int clv_store_upgrade(struct clv_store *store, int version, struct clv_error *err)
{
	static const char doing[] = "cannot create the tables of the state";
	_cleanup_free_ char *sql = make_upgrade(version);
	int r = sql ? sqlite3_exec(store->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	return r == SQLITE_OK ? 0 : clv_store_error(err, store->db, r, doing);
}
