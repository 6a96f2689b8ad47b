/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is not linked with the driver's library and opens it itself.
 *
 * usage: cuda-opener open|again|deep|apart LIBRARY
 *
 * again: after it was closed; deep: with its own symbols first; apart: in a namespace of
 * its own. Prints the result of an allocation of 2 GiB, and whether a name that the gate
 * does not hook is found. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int function(void *, ...);
typedef int ioctl_function(int fd, unsigned long request, ...);

static function *find(void *library, const char *name)
{
	return (function *)(uintptr_t)dlsym(library, name);
}

static void *open_library(const char *how, const char *path)
{
	int deep = strcmp(how, "deep") == 0 ? RTLD_DEEPBIND : 0;
	void *library;

#ifndef STATIC
	if (strcmp(how, "apart") == 0)
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
#endif
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
	if (library && strcmp(how, "again") == 0) {
		find(library, "cuInit")(NULL);
		dlclose(library);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? open_library(argv[1], argv[2]) : NULL;
	void *context = NULL;
	uint64_t address;
	int r;

	if (!library) {
		fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "usage?");
		return 1;
	}
	r = find(library, "cuInit")(NULL);
	if (r == 0)
		r = find(library, "cuDevicePrimaryCtxRetain")(&context, 0);
	if (r == 0)
		r = find(library, "cuCtxSetCurrent")(context);
	if (r == 0)
		r = find(library, "cuMemAlloc_v2")(&address, (size_t)2 << 30);
	/* The gate defines ioctl as well, and calls libc's. */
	if (dlsym(library, "ioctl") &&
		((ioctl_function *)(uintptr_t)dlsym(library, "ioctl"))(-1, 0, NULL) != -1)
		r = -1;
	printf("%d %s\n", r, find(library, "cuDriverGetVersion") ? "found" : "not found");
	return 0;
}
