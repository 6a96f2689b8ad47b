/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/preload/unknown.h"

#include "gate/preload/libc.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* The variants for the default stream of a thread. */
static const char *const variants[] = {"_ptds", "_ptsz", "_spt"};

static size_t length_of_plain(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		size_t n_variant = strlen(variants[i]);

		if (n > n_variant && strcmp(name + n - n_variant, variants[i]) == 0)
			return n - n_variant;
	}
	return n;
}

static bool tells(const struct clv_hooked_library *library, const char *name)
{
	for (uint32_t i = 0; library->telling[i]; i++) {
		if (strstr(name, library->telling[i]))
			return true;
	}
	return false;
}

bool clv_name_is_unknown(const struct clv_hooked_library *library, const char *name)
{
	size_t n;

	if (strncmp(name, library->prefix, strlen(library->prefix)) != 0 ||
		!tells(library, name))
		return false;
	n = length_of_plain(name);
	for (uint32_t i = 0; library->known[i]; i++) {
		if (strncmp(library->known[i], name, n) == 0 && !library->known[i][n])
			return false;
	}
	return true;
}

bool clv_unknown_is_refused(const struct clv_hooked_library *library, const char *name)
{
	if (!clv_name_is_unknown(library, name) || !library->is_leased())
		return false;
	clv_unknown_report(library, name);
	return true;
}

void clv_unknown_report(const struct clv_hooked_library *library, const char *name)
{
	static atomic_bool is_reported;

	if (!atomic_exchange(&is_reported, true))
		fprintf(stderr,
			"cleave: %s is not found: %s has it, but this version of cleave "
			"does not know the function and cannot limit it; install a newer "
			"cleave, or use libraries that do without it\n",
			name, library->sonames[0]);
}

void clv_refused_report(const char *name)
{
	static atomic_bool is_reported;

	if (!atomic_exchange(&is_reported, true))
		fprintf(stderr,
			"cleave: %s is refused: nothing would show how much memory or "
			"time "
			"of the GPU it takes; use another function of the library for "
			"it\n",
			name);
}

bool clv_library_contains(const struct clv_hooked_library *library, const void *function)
{
	Dl_info here, there = {0};
	void *object = dladdr(function, &here)
			       ? dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			       : NULL;
	bool contains = false;

	for (uint32_t i = 0; object && !contains && i < library->n_hooks; i++) {
		const void *known = clv_real_dlsym(object, library->hooks[i].symbol);

		contains = known && dladdr(known, &there) &&
			   there.dli_fbase == here.dli_fbase;
	}
	if (object)
		dlclose(object);
	return contains;
}
