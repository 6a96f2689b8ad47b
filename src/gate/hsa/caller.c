/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the address ranges of ROCm's libraries among the loaded objects. */
#include "gate/hsa/caller.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

struct clv_caller clv_caller_hip;
static struct clv_caller hsa, opencl;
static _Atomic uint64_t n_loaded; /* dlpi_adds at the last scan */

static const struct {
	const char *library; /* prefix of the file's name */
	struct clv_caller *caller;
} known[] = {
	{"libamdhip64.so", &clv_caller_hip},
	{"libhsa-runtime64.so", &hsa},
	{"libamdocl64.so", &opencl},
};

static struct clv_caller *find(const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strncmp(file, known[i].library, strlen(known[i].library)) == 0)
			return known[i].caller;
	}
	return NULL;
}

static uintptr_t end_of(const struct dl_phdr_info *object)
{
	uintptr_t end = 0;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && part->p_vaddr + part->p_memsz > end)
			end = part->p_vaddr + part->p_memsz;
	}
	return end;
}

/* A shim of cleave run has the library's name, a page or two, and no code: of several
 * objects with one name the largest is the library. */
static int record_object(struct dl_phdr_info *object, size_t n_bytes, void *userdata)
{
	struct clv_caller *caller = find(object->dlpi_name);
	uintptr_t end = end_of(object);

	(void)n_bytes;
	(void)userdata;
	atomic_store(&n_loaded, object->dlpi_adds);
	if (!caller || end <= atomic_load(&caller->n_bytes))
		return 0;
	atomic_store(&caller->n_bytes, 0);
	atomic_store(&caller->begin, object->dlpi_addr);
	atomic_store(&caller->n_bytes, end);
	return 0;
}

void clv_callers_scan(void)
{
	dl_iterate_phdr(record_object, NULL);
}

static int read_adds(struct dl_phdr_info *object, size_t n_bytes, void *userdata)
{
	(void)n_bytes;
	*(uint64_t *)userdata = object->dlpi_adds;
	return 1;
}

static bool is_exempt(const void *address)
{
	return clv_caller_is(&hsa, address) || clv_caller_is(&opencl, address);
}

bool clv_caller_is_exempt(const void *address)
{
	uint64_t n = 0;

	if (is_exempt(address))
		return true;
	if (clv_caller_is_hip(address))
		return false;
	dl_iterate_phdr(read_adds, &n);
	if (n == atomic_load(&n_loaded))
		return false;
	clv_callers_scan();
	return is_exempt(address);
}
