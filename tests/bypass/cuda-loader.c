/* SPDX-License-Identifier: Apache-2.0 */
/* Ways past the gate's symbols.  This program is not linked with libcuda and finds the
 * calls that it needs by itself.  It allocates memory and prints how much it got.
 *
 * usage: bypass-cuda-loader WAY LIBRARY */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)64 << 20)
#define PIECES_MAX 40
#define DRIVER "libcuda.so.1"

struct calls {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*allocate)(uint64_t *address, size_t bytes);
};

typedef void *(*find_function)(void *library, const char *name);

static void *must(void *found, const char *what)
{
	if (!found) {
		printf("failed %s: %s\n", what, dlerror());
		exit(1);
	}
	return found;
}

static void fill(struct calls *calls, find_function find, void *library)
{
	calls->init = must(find(library, "cuInit"), "cuInit");
	calls->retain = must(
		find(library, "cuDevicePrimaryCtxRetain"), "cuDevicePrimaryCtxRetain");
	calls->set_current = must(find(library, "cuCtxSetCurrent"), "cuCtxSetCurrent");
	calls->allocate = must(find(library, "cuMemAlloc_v2"), "cuMemAlloc_v2");
}

static void *by_dlsym(void *library, const char *name)
{
	return dlsym(library, name);
}

#ifndef WAY_STATIC
/* Reads the symbol table of a loaded library, without a call of the loader. */
static void *in_table(const struct link_map *map, const char *name)
{
	const char *names = NULL;
	const ElfW(Sym) *symbols = NULL;
	const uint32_t *hash = NULL;

	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			names = (const char *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
		else if (entry->d_tag == DT_GNU_HASH)
			hash = (const uint32_t *)entry->d_un.d_ptr;
	}
	/* The exported symbols begin where the hash table says, if it is not empty. */
	for (uint32_t i = hash[1]; hash[4 + 2 * hash[2]] && i < 100000; i++) {
		if (strcmp(names + symbols[i].st_name, name) == 0)
			return (void *)(map->l_addr + symbols[i].st_value);
	}
	return NULL;
}

/* Searches all loaded libraries of this name: one of them is the driver's own. */
static void *by_hand(void *library, const char *name)
{
	void *found = NULL;

	for (const struct link_map *map = library; map && !found; map = map->l_next) {
		if (strstr(map->l_name, "libcuda"))
			found = in_table(map, name);
	}
	return found;
}

static void *by_version(void *library, const char *name)
{
	void *found = dlvsym(library, name, "libcuda.so.1");

	/* The driver's symbols have no version. */
	return found ? found : dlsym(library, name);
}

static void *look_up(void *userdata)
{
	void *library = userdata;

	for (int i = 0; i < 2000; i++) {
		if (!dlsym(library, "cuMemAlloc_v2") || !dlsym(RTLD_DEFAULT, "malloc"))
			return library;
	}
	return NULL;
}

/* All threads look up one symbol at once (vgpu-manager 60e783c: one finds nothing). */
static void *by_threads(void *library, const char *name)
{
	pthread_t threads[8];
	void *failed = NULL;

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, look_up, library);
	for (int i = 0; i < 8; i++) {
		void *one = NULL;

		pthread_join(threads[i], &one);
		failed = one ? one : failed;
	}
	return failed ? NULL : dlsym(library, name);
}

/* A copy of the library under another name and in another folder, as a program may bring
 * its own. */
static void *copy_of(const char *path)
{
	char copy[] = "/tmp/bypass-XXXXXX", command[512];
	int fd = mkstemp(copy);
	void *library;

	if (fd < 0)
		return NULL;
	snprintf(command, sizeof(command), "cp -L '%s' %s", path, copy);
	library = system(command) == 0 ? dlopen(copy, RTLD_NOW) : NULL;
	unlink(copy);
	close(fd);
	return library;
}
#endif

static int (*allocate_later)(uint64_t *address, size_t bytes, void *stream);

static int allocate_newer(uint64_t *address, size_t bytes)
{
	return allocate_later(address, bytes, NULL);
}

/* A function of the driver that is newer than the gate. */
static void find_newer(struct calls *calls, void *library)
{
	static const char name[] = "cuMemAllocLaterAsync";
	int (*find)(const char *name, void *ret, int version, uint64_t flags,
		void *ret_status) = dlsym(library, "cuGetProcAddress_v2");

	allocate_later = dlsym(library, name);
	if (!allocate_later && find)
		find(name, &allocate_later, 12090, 0, NULL);
	if (!allocate_later) {
		printf("no: %s is not found\n", name);
		exit(0);
	}
	calls->allocate = allocate_newer;
}

/* All ways open a library by some name and find functions by dlsym or otherwise. */
static void choose(struct calls *calls, const char *way, const char *path)
{
	find_function find = by_dlsym;
	void *library = NULL;

	if (strcmp(way, "absolute") == 0) {
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#ifndef WAY_STATIC
	} else if (strcmp(way, "dlopen-local") == 0 || strcmp(way, "newer-call") == 0) {
		library = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
	} else if (strcmp(way, "dlsym-default") == 0) {
		must(dlopen(DRIVER, RTLD_LAZY | RTLD_GLOBAL), DRIVER);
		fill(calls, by_dlsym, RTLD_DEFAULT);
		return;
	} else if (strcmp(way, "dlsym-next") == 0) {
		must(dlopen(DRIVER, RTLD_LAZY | RTLD_GLOBAL), DRIVER);
		fill(calls, by_dlsym, RTLD_NEXT);
		return;
	} else if (strcmp(way, "dlvsym") == 0) {
		library = dlopen(DRIVER, RTLD_NOW);
		find = by_version;
	} else if (strcmp(way, "dlsym-threads") == 0) {
		library = dlopen(DRIVER, RTLD_NOW);
		find = by_threads;
	} else if (strcmp(way, "dlmopen") == 0) {
		library = dlmopen(LM_ID_NEWLM, DRIVER, RTLD_NOW);
	} else if (strcmp(way, "copy-of-driver") == 0) {
		library = copy_of(path);
	} else if (strcmp(way, "symbols-by-hand") == 0) {
		library = dlopen(DRIVER, RTLD_NOW);
		find = by_hand;
#endif
	}
	fill(calls, find, must(library, way));
	if (strcmp(way, "newer-call") == 0)
		find_newer(calls, library);
}

int main(int argc, char **argv)
{
	struct calls calls;
	uint64_t piece;
	void *context;
	size_t n = 0;
	char byte;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3)
		return 64;
	choose(&calls, argv[1], argv[2]);
	r = calls.init(0);
	if (r) {
		printf("no-device %d\n", r);
		return 3;
	}
	r = calls.retain(&context, 0);
	if (!r)
		r = calls.set_current(context);
	while (!r && n < PIECES_MAX && (r = calls.allocate(&piece, PIECE_BYTES)) == 0)
		n++;
	printf("got %zu code %d\n", n * PIECE_BYTES, r);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
