/* SPDX-License-Identifier: Apache-2.0 */
/* The gate in the place of the vendors, as a loader of cl_khr_icd 2.0.0 looks at it: one
 * vendor is of that version, one is older.
 *
 * usage: test-icd GATE OLD-VENDOR NEW-VENDOR */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct platform {
	const void *const *table;
	void *data;
};

static const char *gate, *vendors[2];
static void *library;
static char folder[] = "/tmp/cleave-icd-XXXXXX";

static void *in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void name_vendor(const char *file, const char *path)
{
	FILE *icd = fopen(in_folder(file), "w");

	assert_non_null(icd);
	fprintf(icd, "%s\n", path);
	fclose(icd);
}

/* It looks for the vendors beside itself. */
static int set_up(void **state)
{
	char gate_here[256];

	assert_non_null(mkdtemp(folder));
	snprintf(gate_here, sizeof(gate_here), "%s/libcleave-opencl.so", folder);
	assert_int_equal(symlink(gate, gate_here), 0);
	assert_int_equal(mkdir(in_folder("vendors.real"), 0700), 0);
	name_vendor("vendors.real/a.icd", vendors[0]);
	name_vendor("vendors.real/b.icd", vendors[1]);
	library = dlopen(gate_here, RTLD_NOW | RTLD_LOCAL);
	return library ? 0 : -1;
}

static int tear_down(void **state)
{
	unlink(in_folder("vendors.real/a.icd"));
	unlink(in_folder("vendors.real/b.icd"));
	rmdir(in_folder("vendors.real"));
	unlink(in_folder("libcleave-opencl.so"));
	return rmdir(folder);
}

static void *function(const char *name)
{
	void *(*by_name)(const char *) = dlsym(library, "clGetExtensionFunctionAddress");
	void *address = dlsym(library, name);

	assert_non_null(address);
	assert_ptr_equal(by_name(name), address);
	return address;
}

static void test_both_ages(void **state)
{
	int (*get_platforms)(unsigned, struct platform **, unsigned *) =
		function("clIcdGetPlatformIDsKHR");
	void *(*get_function)(struct platform *, const char *) =
		function("clIcdGetFunctionAddressForPlatformKHR");
	int (*set_data)(struct platform *, void *) =
		function("clIcdSetPlatformDispatchDataKHR");
	struct platform *platforms[4], nobodys = {0};
	unsigned n;
	int data;

	assert_int_equal(get_platforms(4, platforms, &n), 0);
	assert_int_equal(n, 2);
	assert_null(get_function(platforms[0], "clFinish"));
	assert_int_equal(set_data(platforms[0], &data), -32);
	assert_null(platforms[0]->data);
	assert_ptr_equal(get_function(platforms[1], "clFinish"), platforms[1]);
	assert_null(get_function(platforms[1], "clNoSuch"));
	assert_int_equal(set_data(platforms[1], &data), 0);
	assert_ptr_equal(platforms[1]->data, &data);
	assert_int_equal(set_data(&nobodys, &data), -32);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ages)};

	if (argc != 4)
		return 64;
	gate = realpath(argv[1], NULL);
	vendors[0] = argv[2];
	vendors[1] = argv[3];
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
