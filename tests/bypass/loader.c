/* SPDX-License-Identifier: Apache-2.0 */
/* Ways past the loader, or to it.  This program is not linked with libOpenCL and finds
 * the calls that it needs by itself.  It allocates buffers and prints how much it got. */
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)8 << 20)
#define PIECES_MAX 64
#define LOADER "libOpenCL.so.1"

struct calls {
	cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int (*devices)(
		cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	cl_context (*context)(const cl_context_properties *, cl_uint,
		const cl_device_id *,
		void (*)(const char *, const void *, size_t, void *), void *, cl_int *);
	cl_mem (*buffer)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
};

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "bypass: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return function;
}

static void fill(struct calls *calls, void *library)
{
	calls->platforms = find(library, "clGetPlatformIDs");
	calls->devices = find(library, "clGetDeviceIDs");
	calls->context = find(library, "clCreateContext");
	calls->buffer = find(library, "clCreateBuffer");
}

static void *must_open(void *library)
{
	if (!library) {
		fprintf(stderr, "bypass: %s\n", dlerror());
		exit(1);
	}
	return library;
}

/* Uses the driver's library as the loader would. */
static void fill_from_vendor(struct calls *calls, const char *path)
{
	void *library = must_open(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	void *(*address)(const char *) = find(library, "clGetExtensionFunctionAddress");
	const cl_icd_dispatch *dispatch;
	cl_platform_id platform;

	calls->platforms = address("clIcdGetPlatformIDsKHR");
	if (!calls->platforms || calls->platforms(1, &platform, NULL) != CL_SUCCESS)
		exit(3);
	dispatch = *(const cl_icd_dispatch *const *)(const void *)platform;
	calls->devices = dispatch->clGetDeviceIDs;
	calls->context = dispatch->clCreateContext;
	calls->buffer = dispatch->clCreateBuffer;
}

/* A loader of its own without layers: uses the first driver that the folder names. */
static void fill_as_loader(struct calls *calls)
{
	const char *folder = getenv("OCL_ICD_VENDORS");
	char pattern[4096], path[4096] = "";
	glob_t icds;
	FILE *file;

	snprintf(pattern, sizeof(pattern), "%s/*.icd",
		folder ? folder : "/etc/OpenCL/vendors");
	file = glob(pattern, 0, NULL, &icds) == 0 ? fopen(icds.gl_pathv[0], "r") : NULL;
	if (!file || !fgets(path, sizeof(path), file))
		exit(3);
	fclose(file);
	path[strcspn(path, "\n")] = '\0';
	fill_from_vendor(calls, path);
}

/* Gets the platform from the loader, and the driver's table from its first word. */
static void fill_from_table(struct calls *calls)
{
	const cl_icd_dispatch *dispatch;
	cl_platform_id platform;

	fill(calls, must_open(dlopen(LOADER, RTLD_NOW)));
	if (calls->platforms(1, &platform, NULL) != CL_SUCCESS)
		exit(3);
	dispatch = *(const cl_icd_dispatch *const *)(const void *)platform;
	calls->buffer = dispatch->clCreateBuffer;
}

static bool choose(struct calls *calls, const char *way, const char *vendor)
{
	if (strcmp(way, "dlopen-local") == 0) {
		fill(calls, must_open(dlopen(LOADER, RTLD_NOW | RTLD_LOCAL)));
	} else if (strcmp(way, "dlsym-default") == 0) {
		must_open(dlopen(LOADER, RTLD_LAZY | RTLD_GLOBAL));
		fill(calls, RTLD_DEFAULT);
	} else if (strcmp(way, "dlsym-next") == 0) {
		must_open(dlopen(LOADER, RTLD_LAZY | RTLD_GLOBAL));
		fill(calls, RTLD_NEXT);
	} else if (strcmp(way, "dlmopen") == 0) {
		fill(calls, must_open(dlmopen(LM_ID_NEWLM, LOADER, RTLD_NOW)));
	} else if (strcmp(way, "vendor-library") == 0 && vendor) {
		fill_from_vendor(calls, vendor);
	} else if (strcmp(way, "own-loader") == 0) {
		fill_as_loader(calls);
	} else if (strcmp(way, "vendor-table") == 0) {
		fill_from_table(calls);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct calls calls;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	size_t n = 0;
	cl_int r = 0;

	if (argc < 2 || !choose(&calls, argv[1], argc > 2 ? argv[2] : NULL))
		return 64;
	if (calls.platforms(1, &platform, NULL) != CL_SUCCESS ||
		calls.devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
			CL_SUCCESS) {
		puts("no-device");
		return 3;
	}
	context = calls.context(NULL, 1, &device, NULL, NULL, &r);
	while (!r && n < PIECES_MAX &&
		calls.buffer(context, CL_MEM_READ_WRITE, PIECE_BYTES, NULL, &r))
		n++;
	printf("got %zu code %d\n", n * PIECE_BYTES, r);
	return 0;
}
