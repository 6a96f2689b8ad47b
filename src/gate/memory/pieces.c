/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that is mapped by hand.  It lives as long as a handle, any mapping of
 * it or a file that it was exported to, in any process, and is charged to the process
 * that created it.  An import from the same lease keeps the file open, and so the charge,
 * and takes over the charge for what it has mapped when the creating process is gone.
 * Memory from elsewhere is charged to each process that maps it, because the driver does
 * not tell an import's size before that. */
#include "gate/memory/pieces.h"

#include "base/clock.h"
#include "base/proc.h"
#include "gate/memory/charges.h"
#include "gate/memory/file-marks.h"
#include "gate/memory/ledger.h"
#include "gate/process/thread.h"
#include "gate/process/view.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* A mark's number has the lease, the slot, and a serial number in that process.  Slots
 * and in the end pids are reused, so the mark's process is the pid and when the process
 * was started, or a random number where /proc does not tell that. */
#define SERIAL_BITS 30
#define SLOT_BITS 10
#define LEASE_BITS (CLV_FILE_MARK_BITS - SLOT_BITS - SERIAL_BITS)
#define PID_BITS 22 /* of Linux */
#define START_BITS (CLV_FILE_MARK_BITS - PID_BITS - 1)
#define HAS_START (UINT64_C(1) << (CLV_FILE_MARK_BITS - 1))
#define LOOK_NS (100 * CLV_NS_PER_MS)

#define LOW_BITS(number, n) ((number) & ((UINT64_C(1) << (n)) - 1))

static_assert(CLV_SLOTS <= 1u << SLOT_BITS, "a slot in a mark");

struct clv_piece {
	struct clv_piece *next;
	uint64_t handle;
	uint32_t n_references; /* by the handle, mappings and files */
	struct clv_charge charge;
};

/* An imported handle. */
struct import {
	struct import *next;
	uint64_t handle;
	uint32_t n_handles, n_mappings;
	struct clv_piece *piece; /* of this process; NULL: of another one */
	/* The file of another process of the lease that has the piece charged; -1: no
	 * such process has. */
	int fd;
	uint32_t slot, pid;
	uint64_t start_ticks; /* 0: not visible from here */
};

struct clv_mapping {
	struct clv_mapping *next;
	uint64_t address, n_bytes;
	struct clv_piece *piece;  /* NULL: another process's */
	struct import *import;    /* of that */
	struct clv_charge charge; /* of that */
};

/* An exported file, which keeps its piece until it is closed in all processes. */
struct export
{
	struct export *next;
	struct clv_file_mark mark;
	bool is_marked; /* else its last close cannot be detected */
	bool is_seen;
	struct clv_piece *piece;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clv_piece *pieces;
static struct clv_mapping *mappings;
static struct import *imports;
static struct export *exports;
static bool is_watching;

static struct import *find_import(uint64_t handle)
{
	struct import *import = imports;

	while (import && (import->handle != handle || import->n_handles == 0))
		import = import->next;
	return import;
}

static struct clv_piece *find(uint64_t handle)
{
	const struct import *import = find_import(handle);
	struct clv_piece *piece = pieces;

	if (import)
		return import->piece;
	while (piece && piece->handle != handle)
		piece = piece->next;
	return piece;
}

static void drop(struct clv_piece *piece)
{
	struct clv_piece **link = &pieces;

	if (--piece->n_references > 0)
		return;
	while (*link != piece)
		link = &(*link)->next;
	*link = piece->next;
	clv_charge_undo(&piece->charge);
	free(piece);
}

void clv_pieces_lock(void)
{
	pthread_mutex_lock(&lock);
}

void clv_pieces_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void clv_piece_add(uint64_t handle, const struct clv_charge *charge)
{
	struct clv_piece *piece = calloc(1, sizeof(*piece));

	if (!piece) {
		clv_charge_undo(charge);
		return;
	}
	piece->handle = handle;
	piece->n_references = 1;
	piece->charge = *charge;
	pthread_mutex_lock(&lock);
	piece->next = pieces;
	pieces = piece;
	pthread_mutex_unlock(&lock);
}

static void drop_import(struct import *gone)
{
	struct import **link = &imports;

	if (gone->n_handles > 0 || gone->n_mappings > 0)
		return;
	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	if (gone->fd >= 0)
		close(gone->fd);
	free(gone);
}

void clv_piece_release(uint64_t handle)
{
	struct import *import = find_import(handle);
	struct clv_piece *piece = find(handle);

	if (import) {
		import->n_handles--;
		drop_import(import);
	}
	if (piece)
		drop(piece);
}

void clv_piece_retain(uint64_t handle)
{
	struct import *import = find_import(handle);
	struct clv_piece *piece = find(handle);

	/* The handle may be gone and the import kept by a mapping. */
	for (struct import *each = imports; each && !import && !piece; each = each->next)
		import = each->handle == handle ? each : NULL;
	if (import) {
		import->n_handles++;
		piece = import->piece;
	}
	if (piece)
		piece->n_references++;
}

/* Exports. */

static uint64_t mark_of_lease(const struct clv_view *view)
{
	uint64_t lease = view->report_inode ^ view->report_device << 8;

	return LOW_BITS(lease, LEASE_BITS) << (SLOT_BITS + SERIAL_BITS);
}

static uint32_t pid_of_slot(uint32_t slot)
{
	const struct clv_view *view = clv_gate_current_view();

	return view ? atomic_load(&view->report->slots[slot].pid) : 0;
}

/* Identifies this process in marks; a child gets a new identity, because it has another
 * view. */
static bool identify(const struct clv_view *view, uint64_t *ret)
{
	static const struct clv_view *known_for;
	static uint64_t known;
	uint64_t start_ticks;

	if (known_for != view) {
		if (clv_proc_start(0, &start_ticks))
			known = HAS_START | LOW_BITS(start_ticks, START_BITS) << PID_BITS;
		else if (getrandom(&known, sizeof(known), 0) == sizeof(known))
			known = LOW_BITS(known, START_BITS) << PID_BITS;
		else
			return false;
		known_for = view;
	}
	*ret = known | LOW_BITS(pid_of_slot(view->slot_index), PID_BITS);
	return true;
}

/* When the process in the slot was started; 0: /proc does not tell, because pids here are
 * not those of the agent, or the process has ended. */
static uint64_t start_of_slot(uint32_t slot)
{
	const struct clv_view *view = clv_gate_current_view();
	uint64_t ticks;

	return view && pid_of_slot(view->slot_index) == (uint32_t)getpid() &&
			       clv_proc_start((pid_t)pid_of_slot(slot), &ticks)
		       ? ticks
		       : 0;
}

static bool next_mark(const struct clv_view *view, struct clv_file_mark *ret)
{
	static uint64_t serial;

	if (!identify(view, &ret->process))
		return false;
	ret->number = mark_of_lease(view) | (uint64_t)view->slot_index << SERIAL_BITS |
		      LOW_BITS(++serial, SERIAL_BITS);
	return true;
}

static bool is_same(const struct clv_file_mark *a, const struct clv_file_mark *b)
{
	return a->number == b->number && a->process == b->process;
}

void clv_piece_exported(uint64_t handle, int fd)
{
	const struct clv_view *view = clv_gate_current_view();
	struct clv_piece *piece = find(handle);
	struct export *export;

	if (!piece || !view)
		return;
	export = calloc(1, sizeof(*export));
	if (!export)
		return;
	*export = (struct export){.next = exports, .piece = piece};
	export->is_marked =
		next_mark(view, &export->mark) && clv_file_mark_put(fd, &export->mark);
	exports = export;
	piece->n_references++;
}

static void mark_seen(const struct clv_file_mark *mark, void *userdata)
{
	(void)userdata;
	for (struct export *export = exports; export; export = export->next)
		export->is_seen |= is_same(&export->mark, mark);
}

/* Reads the list twice: other processes lock and unlock while the kernel lists, and an
 * entry that was skipped once is in the second list. */
static bool find_open_exports(void)
{
	for (struct export *export = exports; export; export = export->next)
		export->is_seen = !export->is_marked;
	return clv_file_marks_visit(mark_seen, NULL) &&
	       clv_file_marks_visit(mark_seen, NULL);
}

bool clv_pieces_settle(void)
{
	struct export **link = &exports;
	bool is_less = false;

	pthread_mutex_lock(&lock);
	if (exports && !find_open_exports())
		link = NULL;
	while (link && *link) {
		struct export *export = *link;

		if (export->is_seen) {
			link = &export->next;
			continue;
		}
		*link = export->next;
		drop(export->piece);
		free(export);
		is_less = true;
	}
	pthread_mutex_unlock(&lock);
	return is_less;
}

/* Imports. */

static void charge_mapping(struct clv_mapping *mapping)
{
	clv_ledger_correct(0, mapping->n_bytes);
	mapping->charge = (struct clv_charge){.n_bytes = mapping->n_bytes,
		.epoch = clv_ledger_epoch(),
		.charged = true};
}

/* The process that had the piece charged is gone: it is charged here.  The quota has room
 * for it, as much as that process's end released. */
static void take_over(struct import *import)
{
	for (struct clv_mapping *each = mappings; each; each = each->next) {
		if (each->import == import && !each->charge.charged)
			charge_mapping(each);
	}
	close(import->fd);
	import->fd = -1;
}

/* Whether the slot has no process now, or another one, perhaps with the same pid. */
static bool has_ended(const struct import *import)
{
	uint64_t start_ticks = import->start_ticks ? start_of_slot(import->slot) : 0;

	return pid_of_slot(import->slot) != import->pid ||
	       (start_ticks != 0 && start_ticks != import->start_ticks);
}

/* Checks whether the charging processes of imports live.  Returns whether any import
 * needs further checks. */
static bool check_imports(void)
{
	bool is_any = false;

	pthread_mutex_lock(&lock);
	for (struct import *each = imports; each; each = each->next) {
		if (each->fd >= 0 && has_ended(each))
			take_over(each);
		is_any |= each->fd >= 0;
	}
	is_watching = is_any;
	pthread_mutex_unlock(&lock);
	return is_any;
}

static void *watch(void *unused)
{
	struct timespec pause = {.tv_nsec = LOOK_NS};

	(void)unused;
	do {
		nanosleep(&pause, NULL);
	} while (check_imports());
	return NULL;
}

/* Whether the mark may be of a process that was started then (0: not known). */
static bool is_of_start(const struct clv_file_mark *mark, uint64_t start_ticks)
{
	return start_ticks == 0 || !(mark->process & HAS_START) ||
	       LOW_BITS(mark->process >> PID_BITS, START_BITS) ==
		       LOW_BITS(start_ticks, START_BITS);
}

/* Finds the process that set the mark.  False: its slot has another process now, or is
 * this process's own. */
static bool find_charging_process(const struct clv_view *view,
	const struct clv_file_mark *mark, struct import *import)
{
	import->slot = (uint32_t)LOW_BITS(mark->number >> SERIAL_BITS, SLOT_BITS);
	import->pid = pid_of_slot(import->slot);
	import->start_ticks = start_of_slot(import->slot);
	return import->pid != 0 && import->slot != view->slot_index &&
	       LOW_BITS(import->pid, PID_BITS) == LOW_BITS(mark->process, PID_BITS) &&
	       is_of_start(mark, import->start_ticks);
}

/* Finds the process of the lease that exported the file, if any; then the file stays
 * open. */
static void find_exporter(struct import *import, int fd)
{
	const struct clv_view *view = clv_gate_current_view();
	uint64_t first = view ? mark_of_lease(view) : 0;
	struct export *own = exports;
	struct clv_file_mark mark;

	if (!view || fd < 0 ||
		!clv_file_mark_find(fd, first,
			first | LOW_BITS(UINT64_MAX, SLOT_BITS + SERIAL_BITS), &mark))
		return;
	while (own && !(own->is_marked && is_same(&own->mark, &mark)))
		own = own->next;
	if (own) {
		import->piece = own->piece;
		return;
	}
	if (!find_charging_process(view, &mark, import))
		return;
	if (!is_watching)
		is_watching = clv_helper_spawn(watch);
	if (is_watching)
		import->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* A driver may return the same handle again, or another one. */
void clv_piece_imported(uint64_t handle, int fd)
{
	struct import *import;

	if (find(handle) || find_import(handle)) {
		clv_piece_retain(handle);
		return;
	}
	import = malloc(sizeof(*import));
	if (!import)
		return;
	*import = (struct import){imports, handle, .n_handles = 1, .fd = -1};
	find_exporter(import, fd);
	imports = import;
	if (import->piece)
		import->piece->n_references++;
}

bool clv_piece_is_known(uint64_t handle)
{
	const struct import *import;
	bool is_known;

	pthread_mutex_lock(&lock);
	import = find_import(handle);
	is_known = find(handle) || (import && import->fd >= 0);
	pthread_mutex_unlock(&lock);
	return is_known;
}

struct clv_mapping *clv_mapping_new(
	uint64_t address, uint64_t n_bytes, const struct clv_charge *charge)
{
	struct clv_mapping *mapping = calloc(1, sizeof(*mapping));

	if (!mapping) {
		clv_charge_undo(charge);
		return NULL;
	}
	mapping->address = address;
	mapping->n_bytes = n_bytes;
	mapping->charge = *charge;
	return mapping;
}

void clv_mapping_done(struct clv_mapping *mapping, uint64_t handle, bool is_mapped)
{
	if (!is_mapped) {
		clv_charge_undo(&mapping->charge);
		free(mapping);
		return;
	}
	mapping->piece = mapping->charge.charged ? NULL : find(handle);
	mapping->import = mapping->piece ? NULL : find_import(handle);
	if (mapping->piece)
		mapping->piece->n_references++;
	if (mapping->import) {
		mapping->import->n_mappings++;
		/* The charging process has ended since clv_piece_is_known(). */
		if (mapping->import->fd < 0 && !mapping->charge.charged)
			charge_mapping(mapping);
	}
	mapping->next = mappings;
	mappings = mapping;
}

void clv_mappings_forget(uint64_t address, uint64_t n_bytes)
{
	struct clv_mapping **link = &mappings;

	while (*link) {
		struct clv_mapping *mapping = *link;

		if (mapping->address < address || mapping->address >= address + n_bytes) {
			link = &mapping->next;
			continue;
		}
		*link = mapping->next;
		if (mapping->piece)
			drop(mapping->piece);
		else
			clv_charge_undo(&mapping->charge);
		if (mapping->import) {
			mapping->import->n_mappings--;
			drop_import(mapping->import);
		}
		free(mapping);
	}
}

void clv_pieces_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
	is_watching = false;
	for (struct import *each = imports; each; each = each->next) {
		if (each->fd >= 0)
			close(each->fd);
		each->fd = -1;
	}
}
