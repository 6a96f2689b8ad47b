/* SPDX-License-Identifier: Apache-2.0 */
/* Where the loader looks for a library. */
#include "base/cleanup.h"
#include "cli/launch/libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FOUND_MAX 8

struct found {
	char paths[FOUND_MAX][256];
	size_t n;
};

static void note(void *userdata, const char *path)
{
	struct found *found = userdata;

	assert_true(found->n < FOUND_MAX);
	snprintf(found->paths[found->n++], sizeof(found->paths[0]), "%s", path);
}

/* The format that ldconfig writes, with three entries. */
static const struct cache {
	char magic[20];
	uint32_t n_entries, string_bytes, unused[5];
	struct {
		int32_t flags;
		uint32_t soname, path, os_version;
		uint64_t hardware;
	} entries[3];
	char strings[48];
} cache = {
	.magic = "glibc-ld.so.cache1.1",
	.n_entries = 3,
	.string_bytes = 48,
	.entries =
		{
			{0x303, 120, 124, 0, 0},
			{0x303, 134, 138, 0, 0},
			{0x3, 120, 128, 0, 0},
		},
	/* at 120: "a.1", at 124: "/b/a.1", at 128: ".1" of that, at 134: "c.1" */
	.strings = "a.1\0/b/a.1\0?\0\0c.1\0/d/c.1",
};

static void test_cache(void **state)
{
	struct found found = {};

	clv_libraries_of_cache(&cache, sizeof(cache), "a.1", note, &found);
	assert_int_equal(found.n, 2);
	assert_string_equal(found.paths[0], "/b/a.1");
	found.n = 0;
	clv_libraries_of_cache(&cache, sizeof(cache), "c.1", note, &found);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.paths[0], "/d/c.1");
	clv_libraries_of_cache(&cache, sizeof(cache), "a", note, &found);
	assert_int_equal(found.n, 1);
}

/* Separate copies, so that sanitizers see a read past the end. */
static void test_damaged_caches(void **state)
{
	struct found found;

	for (size_t n = 0; n <= sizeof(cache); n++) {
		_cleanup_free_ uint8_t *copy = malloc(n + 1);

		memcpy(copy, &cache, n);
		copy = realloc(copy, n ? n : 1);
		found.n = 0;
		clv_libraries_of_cache(copy, n, "c.1", note, &found);
		for (size_t i = 0; i < n; i++) {
			copy[i] ^= 0xff;
			found.n = 0;
			clv_libraries_of_cache(copy, n, "c.1", note, &found);
			copy[i] ^= 0xff;
		}
	}
}

static void test_order(void **state)
{
	struct found found = {};

	setenv("LD_LIBRARY_PATH", "/one:;/two", 1);
	clv_libraries_each("no-such-library.so.1", note, &found);
	unsetenv("LD_LIBRARY_PATH");
	assert_true(found.n > 3);
	assert_string_equal(found.paths[0], "/one/no-such-library.so.1");
	assert_string_equal(found.paths[1], "./no-such-library.so.1");
	assert_string_equal(found.paths[2], "/two/no-such-library.so.1");
}

struct same {
	const char *as;
	bool is_found;
};

static void compare(void *userdata, const char *path)
{
	struct same *same = userdata;
	char *real = realpath(path, NULL), *as = realpath(same->as, NULL);

	same->is_found |= real && as && strcmp(real, as) == 0;
	free(real);
	free(as);
}

/* The library that the loader chose for this program is among the results. */
static void test_as_the_loader(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	struct link_map *map = NULL;
	struct same same = {};

	if (!libc || dlinfo(libc, RTLD_DI_LINKMAP, &map) < 0)
		skip();
	same.as = map->l_name;
	clv_libraries_each("libc.so.6", compare, &same);
	assert_true(same.is_found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_damaged_caches),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_as_the_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
