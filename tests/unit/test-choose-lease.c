/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a container's leases a process uses. */
#include "gate/attach/choose-lease.h"

#include "arbiter/attach.h"
#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define CUDA CLV_ATTACH_API_CUDA
#define HIP CLV_ATTACH_API_HIP
#define OPENCL CLV_ATTACH_API_OPENCL

#define GPU_A "GPU-1b6f4c66-02a4-5c4c-8a57-0d2f1a3c5e01"
#define GPU_B "GPU-2b6f4c66-02a4-5c4c-8a57-0d2f1a3c5e02"
#define GPU_C "GPU-3b6f4c66-02a4-5c4c-8a57-0d2f1a3c5e03"
#define MIG_D "MIG-9a2c1f38-7d1e-5b3c-8a00-11f0c0ffee01"
#define AMD_E "GPU-8c2ba44a96f1b5e2"

/* In the order in which they are made, which is not that of their names. */
static const struct {
	const char *name, *devices; /* NULL: no such file */
} leases[] = {
	{"d", "nvidia " MIG_D "\n"},
	{"b", "nvidia " GPU_A "\nnvidia " GPU_B "\n"},
	{"Z", "opencl 0f7c2d1a\n"},
	{"c", "nvidia " GPU_C "\n"},
	{"e", "amd " AMD_E "\n"},
	{"a", NULL},
};

static const struct {
	uint32_t api;
	const char *cuda, *rocr; /* NULL: not set */
	const char *lease;
	uint32_t n_before;
} rows[] = {
	/* clang-format off */
	{ CUDA,   NULL,            NULL,        "b", 0 },
	{ CUDA,   "0",             NULL,        "b", 0 },
	{ CUDA,   "1",             NULL,        "b", 0 },
	{ CUDA,   "2",             NULL,        "c", 2 },
	{ CUDA,   "3",             NULL,        "d", 3 },
	{ CUDA,   "3,0",           NULL,        "d", 3 },
	{ CUDA,   GPU_C,           NULL,        "c", 2 },
	{ CUDA,   "gpu-3B6F",      NULL,        "c", 2 },
	{ CUDA,   GPU_B "," GPU_C, NULL,        "b", 0 },
	{ CUDA,   "MIG-9a2c",      NULL,        "d", 3 },
	/* Of no lease: the program sees no device of the first. */
	{ CUDA,   "4",             NULL,        "b", 0 },
	{ CUDA,   "-1",            NULL,        "b", 0 },
	{ CUDA,   "02",            NULL,        "b", 0 },
	{ CUDA,   "",              NULL,        "b", 0 },
	{ CUDA,   "GPU-",          NULL,        "b", 0 },
	{ CUDA,   AMD_E,           NULL,        "b", 0 },
	{ CUDA,   NULL,            AMD_E,       "b", 0 },
	{ HIP,    "2",             NULL,        "e", 0 },
	{ HIP,    NULL,            "0",         "e", 0 },
	{ HIP,    NULL,            AMD_E,       "e", 0 },
	/* OpenCL has the devices of all. */
	{ OPENCL, NULL,            NULL,        "Z", 0 },
	{ OPENCL, "2",             NULL,        "c", 2 },
	{ OPENCL, NULL,            AMD_E,       "e", 0 },
	{ OPENCL, "7",             "0",         "e", 0 },
	/* clang-format on */
};

static char folder[] = "/tmp/cleave-choose-lease-XXXXXX";

static void put(const char *lease, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", folder, lease, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make(const char *lease)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, lease);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void drop(const char *lease)
{
	char path[256];
	static const char *const names[] = {"/lease.sock", "/devices", ""};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s%s", folder, lease, names[i]);
		remove(path);
	}
}

static int make_leases(void **state)
{
	char path[256];

	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < CLV_ARRAY_SIZE(leases); i++) {
		make(leases[i].name);
		put(leases[i].name, "lease.sock", "");
		if (leases[i].devices)
			put(leases[i].name, "devices", leases[i].devices);
	}
	put(".", "left", ""); /* no folder */
	snprintf(path, sizeof(path), "%s/A", folder);
	assert_int_equal(symlink("b", path), 0);
	return 0;
}

static int drop_leases(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(leases); i++)
		drop(leases[i].name);
	drop("A");
	drop("left");
	return rmdir(folder);
}

static void set(const char *variable, const char *value)
{
	if (value)
		setenv(variable, value, 1);
	else
		unsetenv(variable);
}

static bool choose(
	uint32_t api, const char *named, char *ret_path, uint32_t *ret_n_before)
{
	const struct clv_lease_choice choice = {folder, "/tmp", named, api};

	return clv_lease_choose(&choice, ret_path, ret_n_before);
}

static void test_choice(void **state)
{
	char path[CLV_LEASE_PLACE_MAX], wanted[256];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		uint32_t n_before = 99;

		set("CUDA_VISIBLE_DEVICES", rows[i].cuda);
		set("ROCR_VISIBLE_DEVICES", rows[i].rocr);
		assert_true(choose(rows[i].api, NULL, path, &n_before));
		snprintf(wanted, sizeof(wanted), "%s/%s/lease.sock", folder,
			rows[i].lease);
		assert_string_equal(path, wanted);
		assert_int_equal(n_before, rows[i].n_before);
	}
}

/* CLEAVE_LEASE names one of the leases, and nothing else. */
static void test_named(void **state)
{
	char path[CLV_LEASE_PLACE_MAX], named[256];
	uint32_t n_before;

	set("CUDA_VISIBLE_DEVICES", "2");
	snprintf(named, sizeof(named), "%s/d/lease.sock", folder);
	assert_true(choose(CUDA, named, path, &n_before));
	assert_string_equal(path, named);
	assert_int_equal(n_before, 0);
	snprintf(named, sizeof(named), "%s/A/lease.sock", folder);
	assert_true(choose(CUDA, named, path, &n_before));
	assert_non_null(strstr(path, "/c/lease.sock"));
	assert_int_equal(n_before, 2);
}

/* Folders on another file system than that of the container's lease are the program's. */
static void test_other_file_system(void **state)
{
	const struct clv_lease_choice none = {folder, "/nowhere", NULL, CUDA};
	const struct clv_lease_choice other = {folder, "/proc", NULL, CUDA};
	char path[CLV_LEASE_PLACE_MAX];
	uint32_t n_before;

	assert_false(clv_lease_choose(&other, path, &n_before));
	assert_false(clv_lease_choose(&none, path, &n_before));
}

/* Of a process that has attached once. */
static void test_choice_is_kept(void **state)
{
	char path[CLV_LEASE_PLACE_MAX], again[CLV_LEASE_PLACE_MAX];
	const struct clv_lease_choice nowhere = {"/nowhere", "/tmp", NULL, CUDA};
	const struct clv_lease_choice choice = {folder, "/tmp", NULL, CUDA};
	uint32_t n_before, n_again;

	assert_false(clv_lease_choose_once(&nowhere, path, &n_before));
	set("CUDA_VISIBLE_DEVICES", "3");
	assert_true(clv_lease_choose_once(&choice, path, &n_before));
	set("CUDA_VISIBLE_DEVICES", "0");
	assert_true(clv_lease_choose_once(&choice, again, &n_again));
	assert_string_equal(again, path);
	assert_int_equal(n_again, n_before);
	assert_non_null(strstr(path, "/d/lease.sock"));
	assert_int_equal(n_before, 3);
}

/* Leases of an older agent, which does not say what devices they have. */
static void test_unknown_devices(void **state)
{
	char path[CLV_LEASE_PLACE_MAX], wanted[256];
	uint32_t n_before = 99;

	set("CUDA_VISIBLE_DEVICES", "1");
	for (size_t i = 0; i < CLV_ARRAY_SIZE(leases); i++)
		put(leases[i].name, "devices", "");
	assert_true(choose(CUDA, NULL, path, &n_before));
	snprintf(wanted, sizeof(wanted), "%s/Z/lease.sock", folder);
	assert_string_equal(path, wanted);
	assert_int_equal(n_before, 0);
}

/* Then the container has its lease in the usual place. */
static void test_one_lease(void **state)
{
	char path[CLV_LEASE_PLACE_MAX];
	uint32_t n_before;

	for (size_t i = 1; i < CLV_ARRAY_SIZE(leases); i++)
		drop(leases[i].name);
	assert_false(choose(CUDA, NULL, path, &n_before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_other_file_system),
		cmocka_unit_test(test_choice_is_kept),
		cmocka_unit_test(test_unknown_devices),
		cmocka_unit_test(test_one_lease),
	};

	return cmocka_run_group_tests(tests, make_leases, drop_leases);
}
