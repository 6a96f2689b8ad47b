/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that is mapped by hand.  It lives as long as a handle, any mapping of
 * it or a file that it was exported to, in any process, and is charged to the process
 * that created it; when that process has ended the agent charges it to the lease as long
 * as such a file exists (exports.h).  An import keeps the file open for as long as it
 * lives itself, and so the charge.  Memory from outside the lease is charged to each
 * process that maps it, because the driver does not tell an import's size before that. */
#include "gate/memory/pieces.h"

#include "gate/memory/charges.h"
#include "gate/memory/exports.h"
#include "gate/memory/file-marks.h"
#include "gate/memory/ledger.h"
#include "gate/process/view.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* A mark's number has the lease, the slot, and the number of the memory in that process.
 * Slots are reused, so the mark's process is a random number. */
#define NUMBER_BITS 30
#define SLOT_BITS 10
#define LEASE_BITS (CLV_FILE_MARK_BITS - SLOT_BITS - NUMBER_BITS)

/* Programs that close unknown descriptors mostly stop at a few hundred. */
#define HIGH_FD 900

#define LOW_BITS(number, n) ((number) & ((UINT64_C(1) << (n)) - 1))

static_assert(CLV_SLOTS <= 1u << SLOT_BITS, "a slot in a mark");

struct clv_piece {
	struct clv_piece *next;
	uint64_t handle;
	/* By the handle, and by mappings.  Without any the driver may use the number of
	 * the handle again, while exported files still have the memory. */
	uint32_t n_references;
	struct clv_charge charge;
	/* Not 0: it has been exported as files with this number, which are known to the
	 * instance of that count, and have this mark. */
	uint32_t number, instance;
	struct clv_file_mark mark;
	bool has_files, is_seen;
	/* An allocation that was exported; the handle is its address. */
	bool is_allocation;
};

/* An imported handle. */
struct import {
	struct import *next;
	uint64_t handle;
	uint32_t n_handles, n_mappings;
	struct clv_piece *piece; /* of this process; NULL: of another one */
	bool is_of_lease;        /* another process of the lease has it charged */
	int fd;                  /* the file; -1: a piece of this process */
};

struct clv_mapping {
	struct clv_mapping *next;
	uint64_t address, n_bytes;
	struct clv_piece *piece;  /* NULL: another process's */
	struct import *import;    /* of that */
	struct clv_charge charge; /* of that */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clv_piece *pieces;
static struct clv_mapping *mappings;
static struct import *imports;

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
	while (piece && (piece->handle != handle || piece->n_references == 0 ||
				piece->is_allocation))
		piece = piece->next;
	return piece;
}

static void free_unused(struct clv_piece *piece)
{
	struct clv_piece **link = &pieces;

	if (piece->n_references > 0 || piece->has_files)
		return;
	while (*link != piece)
		link = &(*link)->next;
	*link = piece->next;
	clv_charge_undo(&piece->charge);
	free(piece);
}

static void drop(struct clv_piece *piece)
{
	piece->n_references--;
	free_unused(piece);
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

	return LOW_BITS(lease, LEASE_BITS) << (SLOT_BITS + NUMBER_BITS);
}

/* Identifies this process in marks; a child gets a new identity, because it has another
 * view. */
static bool identify(const struct clv_view *view, uint64_t *ret)
{
	static const struct clv_view *known_for;
	static uint64_t known;

	if (known_for != view) {
		if (getrandom(&known, sizeof(known), 0) != sizeof(known))
			return false;
		known = LOW_BITS(known, CLV_FILE_MARK_BITS);
		known_for = view;
	}
	*ret = known;
	return true;
}

/* All files of a piece have its number and mark. */
static bool number_piece(const struct clv_view *view, struct clv_piece *piece)
{
	static uint32_t last;

	if (piece->number > 0)
		return true;
	if (last >= LOW_BITS(UINT64_MAX, NUMBER_BITS) ||
		!identify(view, &piece->mark.process))
		return false;
	piece->number = ++last;
	piece->mark.number = mark_of_lease(view) |
			     (uint64_t)view->slot_index << NUMBER_BITS | piece->number;
	return true;
}

/* Where the driver's files cannot be watched, the piece stays charged as long as this
 * process, and the file has no mark, so that another process is charged too.  So it is
 * where the kernel refuses the mark, because another tenant has locked the inode that all
 * files of the driver share. */
static bool watch_file(const struct clv_view *view, struct clv_piece *piece, int fd)
{
	uint64_t n_bytes = piece->charge.charged ? piece->charge.n_bytes : 0;

	if (!number_piece(view, piece))
		return false;
	switch (clv_exports_watch(view, fd, piece->number, n_bytes)) {
	case CLV_EXPORT_REFUSED:
		return false;
	case CLV_EXPORT_UNWATCHABLE:
		piece->instance = 0;
		break;
	case CLV_EXPORT_WATCHED:
		if (!piece->has_files)
			piece->instance = clv_exports_instance();
		/* Earlier files may not be known any more. */
		else if (piece->instance != clv_exports_instance())
			piece->instance = 0;
		clv_file_mark_put(fd, &piece->mark);
		break;
	}
	return true;
}

bool clv_piece_exported(uint64_t handle, int fd)
{
	const struct clv_view *view = clv_gate_current_view();
	struct clv_piece *piece = find(handle);

	if (!view)
		return true;
	/* Another process's: its file can be passed on instead, and has a mark. */
	if (!piece)
		return !find_import(handle);
	if (!watch_file(view, piece, fd))
		return false;
	piece->has_files = true;
	return true;
}

static struct clv_piece *find_allocation(uint64_t address)
{
	struct clv_piece *piece = pieces;

	while (piece && !(piece->is_allocation && piece->n_references > 0 &&
				address - piece->handle < piece->charge.n_bytes))
		piece = piece->next;
	return piece;
}

static struct clv_piece *make_of_allocation(uint64_t address)
{
	struct clv_piece *piece = calloc(1, sizeof(*piece));
	const void *base = NULL;

	if (!piece)
		return NULL;
	piece->charge =
		clv_charge_withdraw_around((const void *)(uintptr_t)address, &base);
	if (!piece->charge.charged) {
		free(piece);
		return NULL;
	}
	piece->handle = (uint64_t)(uintptr_t)base;
	piece->n_references = 1;
	piece->is_allocation = true;
	piece->next = pieces;
	pieces = piece;
	return piece;
}

static const struct clv_mapping *find_mapping(uint64_t address)
{
	const struct clv_mapping *mapping = mappings;

	while (mapping && address - mapping->address >= mapping->n_bytes)
		mapping = mapping->next;
	return mapping;
}

enum clv_range_export clv_piece_range_exported(uint64_t address, int fd)
{
	const struct clv_view *view = clv_gate_current_view();
	const struct clv_mapping *mapping = find_mapping(address);
	struct clv_piece *piece = mapping ? mapping->piece : find_allocation(address);

	if (!view)
		return CLV_RANGE_KEPT;
	if (!mapping && !piece)
		piece = make_of_allocation(address);
	if (!mapping && !piece)
		return CLV_RANGE_UNKNOWN;
	/* Another process's memory can be passed on as its file. */
	if (!piece || !watch_file(view, piece, fd))
		return CLV_RANGE_REFUSED;
	piece->has_files = true;
	return CLV_RANGE_KEPT;
}

void clv_piece_allocation_freed(uint64_t address)
{
	struct clv_piece *piece;

	pthread_mutex_lock(&lock);
	piece = find_allocation(address);
	if (piece && piece->handle == address)
		drop(piece);
	pthread_mutex_unlock(&lock);
}

static void mark_seen(uint32_t number, void *userdata)
{
	(void)userdata;
	for (struct clv_piece *piece = pieces; piece; piece = piece->next)
		piece->is_seen |= piece->number == number;
}

static bool any_has_files(void)
{
	const struct clv_piece *piece = pieces;

	while (piece && !piece->has_files)
		piece = piece->next;
	return piece;
}

static bool find_open_files(void)
{
	for (struct clv_piece *piece = pieces; piece; piece = piece->next)
		piece->is_seen = piece->instance != clv_exports_instance();
	return clv_exports_visit(mark_seen, NULL);
}

bool clv_pieces_settle(void)
{
	struct clv_piece *piece, *next;
	bool is_less = false;

	pthread_mutex_lock(&lock);
	piece = any_has_files() && find_open_files() ? pieces : NULL;
	for (; piece; piece = next) {
		next = piece->next;
		if (!piece->has_files || piece->is_seen)
			continue;
		piece->has_files = false;
		is_less |= piece->n_references == 0;
		free_unused(piece);
	}
	pthread_mutex_unlock(&lock);
	return is_less;
}

/* Imports. */

static bool is_same(const struct clv_file_mark *a, const struct clv_file_mark *b)
{
	return a->number == b->number && a->process == b->process;
}

/* Finds out whose memory the file is. */
static void find_exporter(struct import *import, const struct clv_view *view)
{
	uint64_t first = mark_of_lease(view);
	struct clv_piece *own = pieces;
	struct clv_file_mark mark;

	if (!clv_file_mark_find(import->fd, first,
		    first | LOW_BITS(UINT64_MAX, SLOT_BITS + NUMBER_BITS), &mark))
		return;
	while (own && !(own->number > 0 && is_same(&own->mark, &mark)))
		own = own->next;
	import->piece = own;
	import->is_of_lease = !own;
}

/* The file stays open: its memory may be charged to its exporter only for as
 * long as the file exists. */
static bool keep_file(struct import *import, int fd)
{
	const struct clv_view *view = clv_gate_current_view();

	if (!view || fd < 0)
		return true;
	import->fd = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (import->fd < 0)
		import->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (import->fd < 0)
		return false;
	find_exporter(import, view);
	if (import->piece) {
		close(import->fd);
		import->fd = -1;
	}
	return true;
}

/* A driver may return the same handle again, or another one. */
bool clv_piece_imported(uint64_t handle, int fd)
{
	struct import *import;

	if (find(handle) || find_import(handle)) {
		clv_piece_retain(handle);
		return true;
	}
	import = malloc(sizeof(*import));
	if (!import)
		return false;
	*import = (struct import){imports, handle, .n_handles = 1, .fd = -1};
	if (!keep_file(import, fd)) {
		free(import);
		return false;
	}
	imports = import;
	if (import->piece)
		import->piece->n_references++;
	return true;
}

bool clv_piece_is_known(uint64_t handle)
{
	const struct import *import;
	bool is_known;

	pthread_mutex_lock(&lock);
	import = find_import(handle);
	is_known = find(handle) || (import && import->is_of_lease);
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
	if (mapping->import)
		mapping->import->n_mappings++;
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
	clv_exports_forget_parent();
	for (struct import *each = imports; each; each = each->next) {
		if (each->fd >= 0)
			close(each->fd);
		each->fd = -1;
	}
}
