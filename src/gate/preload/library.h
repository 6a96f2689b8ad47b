/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The libraries of vendors that programs call through a preloaded gate, and what of them
 * is hooked.  generate.py makes each one's description, wrappers and clv_NAME_load() from
 * its hooks.list, and the table of those in one shared object: there can be only one, for
 * two would each have a dlsym in front of the other's. */

typedef void (*clv_function)(void);

struct clv_hook {
	const char *symbol; /* as exported */
	const char *base;   /* less its version, as look-ups by version name it */
	uint32_t since;     /* the version from which the base name means it: 12020 */
	bool is_per_thread;
	clv_function wrapper; /* NULL: only called by the gate itself */
	clv_function *real;
};

struct clv_hooked_library {
	const char *const *sonames; /* of its versions; NULL ends it */
	const char *prefix;         /* of all its names */
	/* By base name, then version; what has no wrapper comes last. */
	const struct clv_hook *hooks;
	uint32_t n_hooks;
	/* By the hash of the symbol: 1 + the number of its hook; 0: free. */
	uint32_t place_bits;
	const uint16_t *places;
	clv_function lacking; /* answers for what the library has not */
};

/* Those of this shared object; NULL ends it. */
extern const struct clv_hooked_library *const clv_hooked_libraries[]
	__attribute__((visibility("hidden")));

/* The library, opened with these flags of dlopen; NULL: it is not there, or (RTLD_NOLOAD)
 * not loaded yet.  Where the lease's namespace has put the gate in its place, it is the
 * real one behind that.  Of several versions it is the one that is loaded, or else the
 * first that can be. */
void *clv_library_open(const struct clv_hooked_library *library, int flags);

/* What the library itself has by the name of the hook, or NULL. */
void *clv_library_find(void *vendor, const struct clv_hook *hook);

/* Opens the library and fills in the real functions; what it lacks answers for itself.
 * In a program that is linked statically it answers for all of it.
 * Once per library, and never from inside a look-up of a symbol. */
void clv_library_fill(const struct clv_hooked_library *library);

/* The hook of an exported symbol; NULL: there is none. */
const struct clv_hook *clv_hook_of_symbol(
	const struct clv_hooked_library *library, const char *symbol);

/* The hook of what the library answered when it was asked for a base name in that
 * version: by the address, or else the newest that the version means and the library has.
 * NULL: the name has none, or not yet. */
const struct clv_hook *clv_hook_of_answer(const struct clv_hooked_library *library,
	const char *base, uint32_t version, bool is_per_thread, const void *answer);

/* Each shared object has its own: makes the gate known to the part that all APIs have in
 * common.  Called when a library has been filled in, so it may be called again.  Nothing
 * is attached yet: many programs load a driver and never look for a device. */
void clv_preload_begin(void);
