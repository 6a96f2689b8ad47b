/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/hsa/caller.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

struct clv_caller clv_caller_hip;
static struct clv_caller hsa, opencl;
static _Atomic uint64_t n_loaded; /* ever, when it was looked last */

static const struct {
	const char *library; /* the file's name begins so */
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

/* Where cleave run has put something in a library's place, that is a page or two, and has
 * no code: the larger one of a name is the library. */
static int look_at(struct dl_phdr_info *object, size_t n_bytes, void *userdata)
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

void clv_callers_look(void)
{
	dl_iterate_phdr(look_at, NULL);
}

static int count(struct dl_phdr_info *object, size_t n_bytes, void *userdata)
{
	(void)n_bytes;
	*(uint64_t *)userdata = object->dlpi_adds;
	return 1;
}

static bool is_let_be(const void *address)
{
	return clv_caller_is(&hsa, address) || clv_caller_is(&opencl, address);
}

bool clv_caller_is_let_be(const void *address)
{
	uint64_t n = 0;

	if (is_let_be(address))
		return true;
	if (clv_caller_is_hip(address))
		return false;
	dl_iterate_phdr(count, &n);
	if (n == atomic_load(&n_loaded))
		return false;
	clv_callers_look();
	return is_let_be(address);
}
