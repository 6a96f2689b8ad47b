/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that is mapped by hand.  It lives as long as a handle, any mapping of
 * it or a file that it was exported to.  What came from elsewhere is charged to whoever
 * maps it: the driver does not say how much an import is before that. */
#include "gate/pieces.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

struct clv_piece {
	struct clv_piece *next;
	uint64_t handle;
	uint32_t n_references; /* of the handle, and mappings */
	struct clv_charge charge;
};

struct clv_mapping {
	struct clv_mapping *next;
	uint64_t address, n_bytes;
	struct clv_piece *piece;  /* NULL: it is another process's */
	struct clv_charge charge; /* of that */
};

/* A handle that was imported. */
struct import {
	struct import *next;
	uint64_t handle;
	uint32_t n_references;
	struct clv_piece
		*piece; /* NULL: it came from elsewhere, or cannot be told to be ours */
};

/* A file of this process's that keeps a piece until it is closed. */
struct export
{
	struct export *next;
	int fd;
	dev_t device;
	ino_t inode;
	struct clv_piece *piece;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct clv_piece *pieces;
static struct clv_mapping *mappings;
static struct import *imports;
static struct export *exports;

static struct import *find_import(uint64_t handle)
{
	struct import *import = imports;

	while (import && import->handle != handle)
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

void clv_piece_made(uint64_t handle, const struct clv_charge *charge)
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

void clv_piece_released(uint64_t handle)
{
	struct import **link = &imports, *gone;
	struct clv_piece *piece = find(handle);

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	gone = *link;
	if (gone && --gone->n_references == 0) {
		*link = gone->next;
		free(gone);
	}
	if (piece)
		drop(piece);
}

void clv_piece_retained(uint64_t handle)
{
	struct import *import = find_import(handle);
	struct clv_piece *piece = find(handle);

	if (import)
		import->n_references++;
	if (piece)
		piece->n_references++;
}

/* Out of the process and into it. */

static bool is_same_file(const struct export *export, int fd)
{
	struct stat now;

	return export->fd == fd && fstat(fd, &now) == 0 && now.st_dev == export->device &&
	       now.st_ino == export->inode;
}

static void keep_for_file(struct clv_piece *piece, int fd)
{
	struct export *export = malloc(sizeof(*export));
	struct stat file;

	if (!export || fstat(fd, &file) != 0) {
		free(export);
		return;
	}
	*export = (struct export){exports, fd, file.st_dev, file.st_ino, piece};
	exports = export;
	piece->n_references++;
}

void clv_piece_exported(uint64_t handle, int fd)
{
	struct clv_piece *piece = find(handle);

	if (piece)
		keep_for_file(piece, fd);
}

struct clv_piece *clv_piece_of_file(int fd)
{
	const struct export *export = exports;

	while (export && !is_same_file(export, fd))
		export = export->next;
	return export ? export->piece : NULL;
}

/* A driver may give the same handle again, or another. */
void clv_piece_imported(uint64_t handle, struct clv_piece *piece)
{
	struct import *import;

	if (find(handle) || find_import(handle)) {
		clv_piece_retained(handle);
		return;
	}
	import = malloc(sizeof(*import));
	if (!import)
		return;
	*import = (struct import){imports, handle, 1, piece};
	imports = import;
	if (piece)
		piece->n_references++;
}

/* With an import of which it cannot be told whose it is, it may be any of these. */
static bool has_unknown_import(void)
{
	const struct import *import = imports;

	while (import && import->piece)
		import = import->next;
	return import;
}

bool clv_pieces_settle(void)
{
	struct export **link = &exports;
	bool is_less = false;

	pthread_mutex_lock(&lock);
	while (*link && !has_unknown_import()) {
		struct export *export = *link;

		if (is_same_file(export, export->fd)) {
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

bool clv_piece_is_known(uint64_t handle)
{
	bool is_known;

	pthread_mutex_lock(&lock);
	is_known = find(handle);
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
	if (mapping->piece)
		mapping->piece->n_references++;
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
		free(mapping);
	}
}

void clv_pieces_forget_parent(void)
{
	pthread_mutex_init(&lock, NULL);
}
