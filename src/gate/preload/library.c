/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the vendors' libraries and maps symbols to their hooks. */
#include "gate/preload/library.h"

#include "base/paths.h"
#include "gate/preload/elf.h"
#include "gate/preload/libc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Opens the real library, which cleave run mounts in a folder beside the path that the
 * gate was loaded from. */
static void *open_behind(const char *soname, int flags)
{
	static const char *const folders[] = {CLV_DRIVERS_BELOW, CLV_DRIVERS_REAL};
	char path[CLV_PATH_MAX];
	void *vendor = NULL;
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)clv_library_open, &self) || !self.dli_fname)
		return NULL;
	slash = strrchr(self.dli_fname, '/');
	for (int i = 0; slash && !vendor && i < 2; i++) {
		snprintf(path, sizeof(path), "%.*s/%s/%s", (int)(slash - self.dli_fname),
			self.dli_fname, folders[i], soname);
		vendor = dlopen(path, flags);
	}
	return vendor;
}

/* Opens by name first, even if that leads back to this gate: the shim at the library's
 * path must be loaded before the real library, because both have that name and later
 * lookups get the one loaded first. */
static void *open_version(
	const struct clv_hooked_library *library, const char *soname, int flags)
{
	const struct clv_hook *hook = &library->hooks[0];
	void *vendor = dlopen(soname, flags);

	if (!vendor ||
		clv_real_dlsym(vendor, hook->symbol) != (void *)(uintptr_t)hook->wrapper)
		return vendor;
	dlclose(vendor);
	return open_behind(soname, flags);
}

static void *open_any(const struct clv_hooked_library *library, int flags)
{
	void *vendor = NULL;

	for (uint32_t i = 0; !vendor && library->sonames[i]; i++)
		vendor = open_version(library, library->sonames[i], flags);
	return vendor;
}

void *clv_library_open(const struct clv_hooked_library *library, int flags)
{
	void *vendor = open_any(library, flags | RTLD_NOLOAD);

	return vendor || flags & RTLD_NOLOAD ? vendor : open_any(library, flags);
}

/* A gate cannot work in a static program, so the program gets no device. */
static bool is_refused(const struct clv_hooked_library *library)
{
	if (!clv_elf_is_in_static_program())
		return false;
	fprintf(stderr,
		"cleave: no share can be enforced in a statically linked program, "
		"so %s finds no device: link it dynamically, or start it by cleave run "
		"--allow-ungated\n",
		library->sonames[0]);
	return true;
}

/* The gate may be a dependency of the library's own dependencies, where cleave run has
 * inserted it; a lookup of a function that the library lacks then finds the wrapper. */
void *clv_library_find(void *vendor, const struct clv_hook *hook)
{
	void *real = clv_real_dlsym(vendor, hook->symbol);

	return real == (void *)(uintptr_t)hook->wrapper ? NULL : real;
}

void clv_library_fill(const struct clv_hooked_library *library)
{
	void *vendor = is_refused(library)
			       ? NULL
			       : clv_library_open(library, RTLD_LAZY | RTLD_LOCAL);

	for (uint32_t i = 0; i < library->n_hooks; i++) {
		const struct clv_hook *hook = &library->hooks[i];
		void *real = vendor ? clv_library_find(vendor, hook) : NULL;

		*hook->real = real ? (clv_function)(uintptr_t)real : library->lacking;
	}
}

/* The same as hash_of() of generate.py. */
static uint32_t hash_of(const char *name, uint32_t n_bits)
{
	uint32_t value = 2166136261u;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 16777619u;
	return value >> (32 - n_bits) ^ (value & ((1u << n_bits) - 1));
}

const struct clv_hook *clv_hook_of_symbol(
	const struct clv_hooked_library *library, const char *symbol)
{
	uint32_t mask = (1u << library->place_bits) - 1, place;

	if (strncmp(symbol, library->prefix, strlen(library->prefix)) != 0)
		return NULL;
	for (place = hash_of(symbol, library->place_bits); library->places[place];
		place = (place + 1) & mask) {
		const struct clv_hook *hook = &library->hooks[library->places[place] - 1];

		if (strcmp(hook->symbol, symbol) == 0)
			return hook;
	}
	return NULL;
}

static bool is_answer(const struct clv_hooked_library *library,
	const struct clv_hook *hook, const void *answer)
{
	return *hook->real != library->lacking &&
	       (const void *)(uintptr_t)*hook->real == answer;
}

/* How well a hook with the right base name fits; 0: not at all. */
static int fit_of(const struct clv_hooked_library *library, const struct clv_hook *hook,
	uint32_t version, bool is_per_thread, const void *answer)
{
	bool is_there = *hook->real != library->lacking;
	bool is_exact = is_answer(library, hook, answer);

	if (hook->is_per_thread && !is_per_thread)
		return is_exact;
	if (hook->since > version && !is_exact)
		return 0;
	return 2 + 4 * is_there + 8 * is_exact + (hook->is_per_thread == is_per_thread);
}

/* A name may mean a function that is exported by another one. */
static const struct clv_hook *find_answer(
	const struct clv_hooked_library *library, const void *answer)
{
	for (uint32_t i = 0; i < library->n_hooks && library->hooks[i].wrapper; i++) {
		if (is_answer(library, &library->hooks[i], answer))
			return &library->hooks[i];
	}
	return NULL;
}

const struct clv_hook *clv_hook_of_answer(const struct clv_hooked_library *library,
	const char *base, uint32_t version, bool is_per_thread, const void *answer)
{
	const struct clv_hook *best = NULL, *other;
	int best_fit = 0;

	for (uint32_t i = 0; i < library->n_hooks && library->hooks[i].wrapper; i++) {
		const struct clv_hook *hook = &library->hooks[i];
		int fit;

		if (strcmp(hook->base, base) != 0)
			continue;
		fit = fit_of(library, hook, version, is_per_thread, answer);
		/* Of equal fits the last is the newest. */
		if (fit > 0 && fit >= best_fit) {
			best = hook;
			best_fit = fit;
		}
	}
	if (best && is_answer(library, best, answer))
		return best;
	other = find_answer(library, answer);
	return other ? other : best;
}
