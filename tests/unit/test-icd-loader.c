/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device/icd-loader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *bytes;
	size_t n;
	const char *is, *layers;
} cases[] = {
#define BYTES(text) text, sizeof(text)
	/* clang-format off */
	{BYTES("OCL_ICD_VENDORS\0OCL_ICD_ASSUME_ICD_EXTENSION\0OPENCL_LAYERS\0" "2.3.1"),
		"ocl-icd 2.3.1", "OPENCL_LAYERS"},
	{BYTES("OCL_ICD_PLATFORM_SORT\0OCL_ICD_LAYERS\0" "2.2.14"),
		"ocl-icd 2.2.14", "OCL_ICD_LAYERS"},
	{BYTES("OCL_ICD_PLATFORM_SORT\0" "2.2.12"), "ocl-icd 2.2.12", NULL},
	{BYTES("Khronos OpenCL ICD Loader\0OCL_ICD_FILENAMES\0OPENCL_LAYERS\0" "3.0.6"),
		"Khronos' loader 3.0.6", "OPENCL_LAYERS"},
	{BYTES("OCL_ICD_FILENAMES\0OCL_ICD_VENDORS"), "Khronos' loader", NULL},
	{BYTES("GLIBC_2.2.5\0" "1.2.3.4\0.1.2\0" "1..2\0" "12345678.1234567.1"),
		"an unknown loader", NULL},
	{BYTES("OPENCL_LAYERS_AND_MORE"), "an unknown loader", NULL},
	{"", 0, "an unknown loader", NULL},
	{"OPENCL_LAYERS 1.2.3", 19, "an unknown loader", NULL}, /* truncated */
	/* clang-format on */
};

static void test_cases(void **state)
{
	struct clv_icd_loader loader;
	char what[64], *copy;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		copy = malloc(
			cases[i].n + 1); /* for sanitizers, not a byte more is read */
		memcpy(copy, cases[i].bytes, cases[i].n);
		copy = realloc(copy, cases[i].n ? cases[i].n : 1);
		clv_icd_loader_identify(copy, cases[i].n, &loader);
		clv_icd_loader_describe(&loader, what, sizeof(what));
		assert_string_equal(what, cases[i].is);
		if (cases[i].layers)
			assert_string_equal(loader.layers, cases[i].layers);
		else
			assert_null(loader.layers);
		free(copy);
	}
}

static void test_where_drivers_are_found(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool has_folder, reads[CLV_ICD_N_DETOURS];
		const char *own_folder;
	} loaders[] = {
		/* clang-format off */
		{BYTES("x\0/etc/OpenCL/vendors\0OCL_ICD_VENDORS\0OPENCL_VENDOR_PATH"),
			true, {true, true, false}, ""},
		{BYTES("x\0/etc/OpenCL/vendors\0OCL_ICD_FILENAMES\0OCL_ICD_VENDORS"),
			true, {true, false, true}, ""},
		{BYTES("x\0/etc/OpenCL/vendors/"), true, {}, ""},
		{BYTES("x\0/opt/conda/etc/OpenCL/vendors"), false, {},
			"/opt/conda/etc/OpenCL/vendors"},
		{BYTES("/opt/conda/etc/OpenCL/vendors/\0/etc/OpenCL/vendors"), true, {},
			"/opt/conda/etc/OpenCL/vendors"},
		{BYTES("x\0etc/OpenCL/vendors"), false, {}, ""}, /* relative */
		{BYTES("x\0/etc/OpenCL/vendors/mine"), false, {}, ""},
		{"x\0/etc/OpenCL/vendors", 21, false, {}, ""}, /* truncated */
		{"x\0/opt/OpenCL/vendors", 21, false, {}, ""},
		/* clang-format on */
	};
	struct clv_icd_loader loader;

	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		clv_icd_loader_identify(loaders[i].bytes, loaders[i].n, &loader);
		assert_int_equal(loader.has_folder, loaders[i].has_folder);
		assert_string_equal(loader.own_folder, loaders[i].own_folder);
		for (size_t j = 0; j < CLV_ICD_N_DETOURS; j++)
			assert_int_equal(loader.reads[j], loaders[i].reads[j]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_where_drivers_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
