/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The vendors' libraries that programs call through a preloaded gate, and their hooked
 * functions.  generate.py creates each library's description, wrappers and
 * clv_NAME_load() from its hooks.list, and the table of the libraries in one shared
 * object.  There can be only one such object, because two would each interpose the
 * other's dlsym. */

typedef void (*clv_function)(void);

struct clv_hook {
	const char *symbol; /* as exported */
	const char *base;   /* without its version suffix, as in lookups by version */
	uint32_t since;     /* from this version on the base name means it: 12020 */
	bool is_per_thread;
	clv_function wrapper; /* NULL: the gate only calls the function */
	clv_function *real;
};

struct clv_hooked_library {
	const char *const *sonames; /* of its versions; ends with NULL */
	const char *prefix;         /* of all its symbols */
	/* Sorted by base name, then version; hooks without a wrapper come last. */
	const struct clv_hook *hooks;
	uint32_t n_hooks;
	/* Hash table by symbol: 1 + the index of the hook; 0: free. */
	uint32_t place_bits;
	const uint16_t *places;
	clv_function lacking; /* called in place of functions that the library lacks */
	/* Parts of names that say that a function allocates or submits, and the names
	 * with such a part that hooks.list has; both end with NULL (unknown.h). */
	const char *const *telling, *const *known;
	bool (*is_leased)(void); /* clv_preload_is_leased */
};

/* The libraries of this shared object; ends with NULL. */
extern const struct clv_hooked_library *const clv_hooked_libraries[]
	__attribute__((visibility("hidden")));

/* Opens the library with these flags of dlopen; NULL: it does not exist, or (RTLD_NOLOAD)
 * is not loaded yet.  Where the lease's namespace has the gate at the library's path, the
 * real library behind it is opened.  Of several versions it is the one that is loaded,
 * else the first that can be loaded. */
void *clv_library_open(const struct clv_hooked_library *library, int flags);

/* The library's own function for the hook, or NULL. */
void *clv_library_find(void *vendor, const struct clv_hook *hook);

/* Opens the library and sets the real functions; for those that it lacks, and for all of
 * them in a statically linked program, `lacking` is set.  Call once per library, and
 * never from inside a symbol lookup. */
void clv_library_fill(const struct clv_hooked_library *library);

/* The hook of an exported symbol, or NULL. */
const struct clv_hook *clv_hook_of_symbol(
	const struct clv_hooked_library *library, const char *symbol);

/* The hook of the function that the library returned for a base name in that version:
 * found by the address, else the newest that the version means and the library has.
 * NULL: the name has no hook, or none in that version. */
const struct clv_hook *clv_hook_of_answer(const struct clv_hooked_library *library,
	const char *base, uint32_t version, bool is_per_thread, const void *answer);

/* Defined by each shared object: initializes the common part for its API.  Called
 * whenever a library has been filled in, so it must be idempotent.  It does not attach:
 * many programs load a driver and never look for a device. */
void clv_preload_begin(void);

/* Defined by each shared object: whether the process has a lease, or must see no device.
 * The first call attaches the process. */
bool clv_preload_is_leased(void);
