/* SPDX-License-Identifier: Apache-2.0 */
/* Shims in front of libraries that every system has. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/shim/shim.h"
#include "cli/shim/versions.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME "libcleave-test-shim.so.1"
#define GATE "libm.so.6"
#define LIBRARY "libc.so.6"
#define SMALL_LIBRARY "libdl.so.2"
#define LOADED_BYTES (4 << 10) /* of a shim, in front of the sections */

static char path[] = "/tmp/cleave-shim-XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

/* The path of a loaded library. */
static const char *path_of(const char *name)
{
	struct link_map *library = NULL;
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &library), 0);
	return library->l_name;
}

static void test_loads(void **state)
{
	void *shim, *gate;

	assert_int_equal(clv_shim_write(path, NAME, GATE, LIBRARY, "", NULL), 0);
	shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!shim)
		fail_msg("%s", dlerror());
	gate = dlopen(GATE, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(gate);
	/* A symbol of the gate, of the library, and of neither. */
	assert_ptr_equal(dlsym(shim, "cos"), dlsym(gate, "cos"));
	assert_non_null(dlsym(shim, "qsort"));
	assert_null(dlsym(shim, "cuInit"));
	/* The shim is found by its name from now on, closed or not. */
	dlclose(shim);
	assert_ptr_equal(dlopen(NAME, RTLD_NOW | RTLD_LOCAL), shim);
}

static void test_is_read_again(void **state)
{
	char library[CLV_PATH_MAX] = "";

	assert_int_equal(clv_shim_write(path, NAME, GATE, "/a/library", "", NULL), 0);
	assert_true(clv_shim_read(path, library));
	assert_string_equal(library, "/a/library");
	assert_false(clv_shim_read("/proc/self/exe", library));
	assert_false(clv_shim_read("/dev/null", library));
	assert_false(clv_shim_read("/no/such/file", library));
	assert_string_equal(library, "/a/library");
}

/* Programs linked with a library require its symbol versions, which the loader checks. */
static void test_has_the_librarys_versions(void **state)
{
	static struct clv_versions of_library, of_shim;
	const char *library = path_of(LIBRARY);

	clv_versions_read(library, &of_library);
	assert_true(of_library.n > 2);
	assert_string_equal(of_library.names[0], LIBRARY);
	assert_int_equal(clv_shim_write(path, NAME, GATE, LIBRARY, library, NULL), 0);
	clv_versions_read(path, &of_shim);
	assert_int_equal(of_shim.n, of_library.n);
	for (size_t i = 0; i < of_shim.n; i++)
		assert_string_equal(of_shim.names[i], of_library.names[i]);
	clv_versions_read("/dev/null", &of_shim);
	assert_int_equal(of_shim.n, 0);
	clv_versions_read("/no/such/file", &of_shim);
	assert_int_equal(of_shim.n, 0);
}

/* For all contents, no byte behind the end is read. */
static void test_is_damaged(void **state)
{
	static struct clv_versions versions;
	char library[CLV_PATH_MAX];
	struct stat st;

	assert_int_equal(
		clv_shim_write(path, NAME, GATE, LIBRARY, path_of(LIBRARY), NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size && at < LOADED_BYTES; at++) {
		_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
		uint8_t old, damaged = 0xff;

		assert_int_equal(pread(fd, &old, 1, at), 1);
		assert_int_equal(pwrite(fd, &damaged, 1, at), 1);
		if (clv_shim_read(path, library))
			assert_true(strlen(library) < sizeof(library));
		clv_versions_read(path, &versions);
		assert_true(versions.n <= CLV_VERSIONS_MAX);
		assert_int_equal(pwrite(fd, &old, 1, at), 1);
	}
}

/* Also where the library is damaged: here another shim, whose headers and sections of any
 * content are read. */
static void test_damaged_library(void **state)
{
	char library[] = "/tmp/cleave-shim-library-XXXXXX";
	_cleanup_close_ int fd = mkstemp(library);
	const uint8_t values[] = {0, 1, 0x7f, 0xff};
	ElfW(Ehdr) header;
	struct stat st;

	assert_int_equal(clv_shim_write(library, NAME, GATE, LIBRARY,
				 path_of(SMALL_LIBRARY), NULL),
		0);
	close(fd);
	fd = open(library, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(header.e_shoff > 0);
	for (off_t at = 0; at < st.st_size; at++) {
		uint8_t old;

		if (at == (off_t)sizeof(header))
			at = (off_t)header.e_shoff;
		assert_int_equal(pread(fd, &old, 1, at), 1);
		for (size_t i = 0; i < sizeof(values); i++) {
			assert_int_equal(pwrite(fd, &values[i], 1, at), 1);
			assert_int_equal(
				clv_shim_write(path, NAME, GATE, LIBRARY, library, NULL),
				0);
		}
		assert_int_equal(pwrite(fd, &old, 1, at), 1);
	}
	unlink(library);
}

static void test_too_large(void **state)
{
	struct clv_error err = {};
	_cleanup_free_ char *name = malloc(4 * CLV_PATH_MAX);
	struct rlimit size;

	assert_non_null(name);
	memset(name, 'x', 4 * CLV_PATH_MAX - 1);
	name[4 * CLV_PATH_MAX - 1] = '\0';
	assert_int_equal(
		clv_shim_write(path, NAME, name, LIBRARY, "", &err), -ENAMETOOLONG);
	signal(SIGXFSZ, SIG_IGN);
	assert_return_code(getrlimit(RLIMIT_FSIZE, &size), errno);
	assert_return_code(
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){16, size.rlim_max}), errno);
	assert_int_equal(clv_shim_write(path, NAME, GATE, LIBRARY, "", &err), -ENOSPC);
	assert_return_code(setrlimit(RLIMIT_FSIZE, &size), errno);
	assert_int_equal(access(path, F_OK), 0); /* the old file remains */
	assert_int_equal(
		clv_shim_write("/no/such/folder/x", NAME, GATE, LIBRARY, "", &err),
		-ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/folder/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_is_read_again),
		cmocka_unit_test(test_has_the_librarys_versions),
		cmocka_unit_test(test_is_damaged),
		cmocka_unit_test(test_damaged_library),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
