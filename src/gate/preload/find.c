/* SPDX-License-Identifier: Apache-2.0 */
/* Interposes dlsym and dlvsym, by which a program could bypass the exported wrappers,
 * whatever the handle.  They jump to the C library's own, so that RTLD_NEXT and
 * RTLD_DEFAULT keep their meaning for the caller. */
#include "gate/preload/libc.h"
#include "gate/preload/library.h"
#include "gate/preload/unknown.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden"), used))

#define NOT_THERE ((void *)-1) /* the stubs below contain this value */

/* Called by the stubs below. */
HIDDEN void *clv_find_for_dlsym(void *handle, const char *symbol);

static const struct clv_hook *find_hook(
	const char *symbol, const struct clv_hooked_library **ret_library)
{
	const struct clv_hook *hook = NULL;

	for (uint32_t i = 0; !hook && clv_hooked_libraries[i]; i++) {
		*ret_library = clv_hooked_libraries[i];
		hook = clv_hook_of_symbol(*ret_library, symbol);
	}
	return hook;
}

static bool vendor_has(
	const struct clv_hooked_library *library, const struct clv_hook *hook)
{
	void *vendor = clv_library_open(library, RTLD_LAZY | RTLD_NOLOAD);
	bool has = vendor && clv_library_find(vendor, hook);

	if (vendor)
		dlclose(vendor);
	return has;
}

/* In another namespace of the loader (dlmopen) there is another gate, before the library
 * of that namespace: a lookup there must find both or neither. */
static bool is_of_another_gate(const void *function)
{
	Dl_info found, self;

	return dladdr(function, &found) &&
	       dladdr((void *)(uintptr_t)clv_real_dlsym, &self) && found.dli_fname &&
	       self.dli_fname && found.dli_fbase != self.dli_fbase &&
	       strcmp(found.dli_fname, self.dli_fname) == 0;
}

/* Looks up a name that does not exist, so that dlerror() has a message: this library
 * exports the wrapper, so a global lookup would find it where the vendor lacks the
 * function. */
static void *fail_lookup(const struct clv_hooked_library *library, void *handle)
{
	char name[64];

	snprintf(name, sizeof(name), "(of %s)", library->sonames[0]);
	clv_real_dlsym(handle, name);
	return NOT_THERE;
}

/* A function of the vendor's library that hooks.list does not know (unknown.h).  Another
 * library may have a function of such a name, which the gate leaves alone. */
static void *find_unknown(void *handle, const char *symbol)
{
	for (uint32_t i = 0; clv_hooked_libraries[i]; i++) {
		const struct clv_hooked_library *library = clv_hooked_libraries[i];
		void *found = clv_name_is_unknown(library, symbol)
				      ? clv_real_dlsym(handle, symbol)
				      : NULL;

		if (found && clv_library_contains(library, found) &&
			clv_unknown_is_refused(library, symbol))
			return fail_lookup(library, handle);
	}
	return NULL;
}

/* Returns the wrapper for the symbol that the handle has; NOT_THERE; or NULL: the C
 * library must answer. */
void *clv_find_for_dlsym(void *handle, const char *symbol)
{
	const struct clv_hooked_library *library = NULL;
	const struct clv_hook *hook;
	void *real, *wrapper;

	clv_libc_find();
	hook = symbol ? find_hook(symbol, &library) : NULL;
	if (!hook)
		return symbol ? find_unknown(handle, symbol) : NULL;
	wrapper = (void *)(uintptr_t)hook->wrapper;
	real = clv_real_dlsym(handle, symbol);
	if (real && real != wrapper)
		return is_of_another_gate(real) ? NULL : wrapper;
	/* A lookup with a version would skip the wrapper, which has none. */
	return vendor_has(library, hook) ? wrapper : fail_lookup(library, handle);
}

/* dlsym(handle, symbol) and dlvsym(handle, symbol, version): call the function above, or
 * else jump to libc's with the caller's return address unchanged. */
#if defined(__x86_64__)
#define LOOK_UP(name, libc)                         \
	__asm__(".text\n"                           \
		".globl " name "\n"                 \
		".type " name ", @function\n"       \
		".p2align 4\n" name ":\n"           \
		"	endbr64\n"                        \
		"	push %rdi\n"                      \
		"	push %rsi\n"                      \
		"	push %rdx\n"                      \
		"	call clv_find_for_dlsym\n"        \
		"	pop %rdx\n"                       \
		"	pop %rsi\n"                       \
		"	pop %rdi\n"                       \
		"	test %rax, %rax\n"                \
		"	jnz 1f\n"                         \
		"	mov " libc "(%rip), %rax\n" \
		"	jmp *%rax\n"                      \
		"1:	cmp $-1, %rax\n"                \
		"	jne 2f\n"                         \
		"	xor %eax, %eax\n"                 \
		"2:	ret\n"                          \
		".size " name ", . - " name "\n")
#elif defined(__aarch64__)
#define LOOK_UP(name, libc)                             \
	__asm__(".text\n"                               \
		".globl " name "\n"                     \
		".type " name ", %function\n"           \
		".p2align 4\n" name ":\n"               \
		"	stp x29, x30, [sp, #-48]!\n"          \
		"	mov x29, sp\n"                        \
		"	stp x0, x1, [sp, #16]\n"              \
		"	str x2, [sp, #32]\n"                  \
		"	bl clv_find_for_dlsym\n"              \
		"	mov x9, x0\n"                         \
		"	ldp x0, x1, [sp, #16]\n"              \
		"	ldr x2, [sp, #32]\n"                  \
		"	ldp x29, x30, [sp], #48\n"            \
		"	cbnz x9, 1f\n"                        \
		"	adrp x9, " libc "\n"            \
		"	ldr x9, [x9, :lo12:" libc "]\n" \
		"	br x9\n"                              \
		"1:	cmn x9, #1\n"                       \
		"	csel x0, xzr, x9, eq\n"               \
		"	ret\n"                                \
		".size " name ", . - " name "\n")
#else
#error "the look-up of symbols has no code for this processor"
#endif

LOOK_UP("dlsym", "clv_libc_dlsym");
LOOK_UP("dlvsym", "clv_libc_dlvsym");
