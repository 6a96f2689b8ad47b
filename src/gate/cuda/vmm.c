/* SPDX-License-Identifier: Apache-2.0 */
/* Physical memory that is mapped by hand.  It lives as long as a handle, any mapping of
 * it or a file that it was exported to.  What came from elsewhere is charged to whoever
 * maps it: the driver does not say how much an import is before that. */
#include "gate/cuda/library.h"
#include "gate/cuda/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

struct piece {
	struct piece *next;
	uint64_t handle;
	uint32_t n_references; /* of the handle, and mappings */
	struct clv_charge charge;
};

struct mapping {
	struct mapping *next;
	uint64_t address, n_bytes;
	struct piece *piece;      /* NULL: it is another process's */
	struct clv_charge charge; /* of that */
};

/* A handle that was imported. */
struct import {
	struct import *next;
	uint64_t handle;
	uint32_t n_references;
	struct piece
		*piece; /* NULL: it came from elsewhere, or cannot be told to be ours */
};

/* A file of this process's that keeps a piece until it is closed. */
struct export
{
	struct export *next;
	int fd;
	dev_t device;
	ino_t inode;
	struct piece *piece;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static struct mapping *mappings;
static struct import *imports;
static struct export *exports;

static struct import *find_import(uint64_t handle)
{
	struct import *import = imports;

	while (import && import->handle != handle)
		import = import->next;
	return import;
}

static struct piece *find(uint64_t handle)
{
	const struct import *import = find_import(handle);
	struct piece *piece = pieces;

	if (import)
		return import->piece;
	while (piece && piece->handle != handle)
		piece = piece->next;
	return piece;
}

static void drop(struct piece *piece)
{
	struct piece **link = &pieces;

	if (--piece->n_references > 0)
		return;
	while (*link != piece)
		link = &(*link)->next;
	*link = piece->next;
	clv_charge_undo(&piece->charge);
	free(piece);
}

/* The program holds one reference.  False: no memory for the record. */
static bool remember(uint64_t handle, const struct clv_charge *charge)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	if (!piece)
		return false;
	piece->handle = handle;
	piece->n_references = 1;
	piece->charge = *charge;
	pthread_mutex_lock(&lock);
	piece->next = pieces;
	pieces = piece;
	pthread_mutex_unlock(&lock);
	return true;
}

static int settle(const struct clv_charge *charge, const uint64_t *handle, int result)
{
	if (result != CLV_CUDA_SUCCESS || !remember(*handle, charge))
		clv_charge_undo(charge);
	return result;
}

int clv_own_cuMemCreate(
	clv_fn_cuMemCreate *real, void *handle, size_t size, void *prop, uint64_t flags)
{
	const struct clv_cuda_memory_properties *properties = prop;
	bool is_of_device = clv_cuda_is_readable(properties, sizeof(*properties)) &&
			    properties->location.type == CLV_CUDA_LOCATION_DEVICE;
	struct clv_charge charge = {0};

	if (is_of_device && !clv_cuda_charge(size, &charge))
		return CLV_CUDA_OUT_OF_MEMORY;
	return settle(&charge, handle, real(handle, size, prop, flags));
}

/* Its mappings show memory that is bound to it, and have none of their own. */
int clv_own_cuMulticastCreate(clv_fn_cuMulticastCreate *real, void *mc_handle, void *prop)
{
	struct clv_charge none = {0};

	return settle(&none, mc_handle, real(mc_handle, prop));
}

static void release(uint64_t handle)
{
	struct import **link = &imports, *gone;
	struct piece *piece = find(handle);

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

int clv_own_cuMemRelease(clv_fn_cuMemRelease *real, uint64_t handle)
{
	int r;

	pthread_mutex_lock(&lock);
	r = real(handle);
	if (r == CLV_CUDA_SUCCESS)
		release(handle);
	pthread_mutex_unlock(&lock);
	return r;
}

static void retain(uint64_t handle)
{
	struct import *import = find_import(handle);
	struct piece *piece = find(handle);

	if (import)
		import->n_references++;
	if (piece)
		piece->n_references++;
}

int clv_own_cuMemRetainAllocationHandle(
	clv_fn_cuMemRetainAllocationHandle *real, void *handle, void *addr)
{
	int r;

	pthread_mutex_lock(&lock);
	r = real(handle, addr);
	if (r == CLV_CUDA_SUCCESS)
		retain(*(uint64_t *)handle);
	pthread_mutex_unlock(&lock);
	return r;
}

/* Out of the process and into it. */

static bool is_same_file(const struct export *export, int fd)
{
	struct stat now;

	return export->fd == fd && fstat(fd, &now) == 0 && now.st_dev == export->device &&
	       now.st_ino == export->inode;
}

static void keep_for_file(struct piece *piece, int fd)
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

int clv_own_cuMemExportToShareableHandle(clv_fn_cuMemExportToShareableHandle *real,
	void *shareable_handle, uint64_t handle, int handle_type, uint64_t flags)
{
	struct piece *piece;
	int r;

	pthread_mutex_lock(&lock);
	r = real(shareable_handle, handle, handle_type, flags);
	piece = r == CLV_CUDA_SUCCESS ? find(handle) : NULL;
	if (piece && handle_type == CLV_CUDA_HANDLE_FILE)
		keep_for_file(piece, *(int *)shareable_handle);
	pthread_mutex_unlock(&lock);
	return r;
}

static struct piece *piece_of_file(int fd)
{
	const struct export *export = exports;

	while (export && !is_same_file(export, fd))
		export = export->next;
	return export ? export->piece : NULL;
}

/* A driver may give the same handle again, or another. */
static void imported(uint64_t handle, struct piece *piece)
{
	struct import *import;

	if (find(handle) || find_import(handle)) {
		retain(handle);
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

int clv_own_cuMemImportFromShareableHandle(clv_fn_cuMemImportFromShareableHandle *real,
	void *handle, void *os_handle, int handle_type)
{
	struct piece *piece = NULL;
	int r;

	pthread_mutex_lock(&lock);
	if (handle_type == CLV_CUDA_HANDLE_FILE)
		piece = piece_of_file((int)(intptr_t)os_handle);
	r = real(handle, os_handle, handle_type);
	if (r == CLV_CUDA_SUCCESS)
		imported(*(uint64_t *)handle, piece);
	pthread_mutex_unlock(&lock);
	return r;
}

/* With an import of which it cannot be told whose it is, it may be any of these. */
static bool has_unknown_import(void)
{
	const struct import *import = imports;

	while (import && import->piece)
		import = import->next;
	return import;
}

bool clv_cuda_exports_settle(void)
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

/* Without the lock, which settling takes. */
static bool charge_foreign(struct mapping *mapping, uint64_t handle)
{
	bool is_ours;

	pthread_mutex_lock(&lock);
	is_ours = find(handle);
	pthread_mutex_unlock(&lock);
	return is_ours || clv_cuda_charge(mapping->n_bytes, &mapping->charge);
}

/* With the lock held. */
static int map(struct mapping *mapping, uint64_t handle, int (*call)(void *userdata),
	void *userdata)
{
	int r = call(userdata);

	if (r != CLV_CUDA_SUCCESS) {
		clv_charge_undo(&mapping->charge);
		return r;
	}
	mapping->piece = mapping->charge.charged ? NULL : find(handle);
	if (mapping->piece)
		mapping->piece->n_references++;
	mapping->next = mappings;
	mappings = mapping;
	return r;
}

struct map_call {
	clv_fn_cuMemMap *real;
	uint64_t address, handle, flags;
	size_t n_bytes, offset;
};

static int call_map(void *userdata)
{
	const struct map_call *call = userdata;

	return call->real(
		call->address, call->n_bytes, call->offset, call->handle, call->flags);
}

int clv_own_cuMemMap(clv_fn_cuMemMap *real, uint64_t address, size_t size, size_t offset,
	uint64_t handle, uint64_t flags)
{
	struct map_call call = {real, address, handle, flags, size, offset};
	struct mapping *mapping = calloc(1, sizeof(*mapping));
	int r;

	if (!mapping)
		return CLV_CUDA_OUT_OF_MEMORY;
	mapping->address = address;
	mapping->n_bytes = size;
	if (!charge_foreign(mapping, handle)) {
		free(mapping);
		return CLV_CUDA_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&lock);
	r = map(mapping, handle, call_map, &call);
	pthread_mutex_unlock(&lock);
	if (r != CLV_CUDA_SUCCESS)
		free(mapping);
	return r;
}

static void forget(uint64_t address, uint64_t n_bytes)
{
	struct mapping **link = &mappings;

	while (*link) {
		struct mapping *mapping = *link;

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

int clv_own_cuMemUnmap(clv_fn_cuMemUnmap *real, uint64_t address, size_t size)
{
	int r;

	pthread_mutex_lock(&lock);
	r = real(address, size);
	if (r == CLV_CUDA_SUCCESS)
		forget(address, size);
	pthread_mutex_unlock(&lock);
	return r;
}
