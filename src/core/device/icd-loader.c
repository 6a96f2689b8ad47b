/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies OpenCL loaders by strings in their libraries. */
#include "core/device/icd-loader.h"

#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Strings that only one loader contains; the first match counts. */
static const struct {
	const char *text, *kind;
} kinds[] = {
	{"OCL_ICD_ASSUME_ICD_EXTENSION", "ocl-icd"},
	{"OCL_ICD_PLATFORM_SORT", "ocl-icd"},
	{"Khronos OpenCL ICD Loader", "Khronos' loader"},
	{"OCL_ICD_FILENAMES", "Khronos' loader"},
	{"OCL_ICD_VENDORS", "Khronos' loader"},
};

/* Variables that name layers, the preferred one first. */
static const char *const variables[] = {"OPENCL_LAYERS", "OCL_ICD_LAYERS"};

const char *const clv_icd_variables[CLV_ICD_N_DETOURS] = {
	[CLV_ICD_VENDORS] = "OCL_ICD_VENDORS",
	[CLV_ICD_VENDOR_PATH] = "OPENCL_VENDOR_PATH",
	[CLV_ICD_FILENAMES] = "OCL_ICD_FILENAMES",
};

/* Compared with both NULs, because the loader of Conda contains a longer path that ends
 * in this one. */
static const char folder[] = "\0/etc/OpenCL/vendors";
static const char folder_before_2020[] = "\0/etc/OpenCL/vendors/";

/* The NUL at the end of text is compared too. */
static bool has(const char *bytes, size_t n_bytes, const char *text)
{
	return memmem(bytes, n_bytes, text, strlen(text) + 1) != NULL;
}

/* "2.3.1" and nothing else. */
static bool is_version(const char *text, size_t n)
{
	static const char digits[] = "0123456789";
	size_t at = 0;

	if (n >= sizeof(((struct clv_icd_loader *)NULL)->version))
		return false;
	for (int part = 0; part < 3; part++) {
		size_t n_digits = strspn(text + at, digits);

		at += n_digits;
		if (n_digits == 0 || text[at] != (part < 2 ? '.' : '\0'))
			return false;
		at += part < 2;
	}
	return at == n;
}

static void find_version(const char *bytes, size_t n_bytes, char *ret, size_t ret_bytes)
{
	const char *at = bytes, *end = bytes + n_bytes, *stop;

	ret[0] = '\0';
	for (; (stop = memchr(at, '\0', (size_t)(end - at))); at = stop + 1) {
		if (is_version(at, (size_t)(stop - at))) {
			snprintf(ret, ret_bytes, "%s", at);
			return;
		}
		if (stop + 1 == end)
			return;
	}
}

/* The text that ends at the NUL, without a slash at its end, if it is an absolute path of
 * another folder. */
static void take_folder(const char *bytes, const char *end, char ret[CLV_ICD_FOLDER_MAX])
{
	const char *from = end;
	size_t n;

	while (from > bytes && from[-1] != '\0')
		from--;
	n = (size_t)(end - from);
	if (n > 0 && from[n - 1] == '/')
		n--;
	if (from[0] != '/' || n >= CLV_ICD_FOLDER_MAX ||
		(n == sizeof(folder) - 2 && memcmp(from, folder + 1, n) == 0))
		return;
	memcpy(ret, from, n);
	ret[n] = '\0';
}

static void find_own_folder(
	const char *bytes, size_t n_bytes, char ret[CLV_ICD_FOLDER_MAX])
{
	static const char tail[] = "/OpenCL/vendors";
	const char *at = bytes, *end = bytes + n_bytes;

	ret[0] = '\0';
	while (!ret[0] && (at = memmem(at, (size_t)(end - at), tail, sizeof(tail) - 1))) {
		at += sizeof(tail) - 1;
		if (at < end && *at == '/')
			at++;
		if (at < end && *at == '\0')
			take_folder(bytes, at, ret);
	}
}

void clv_icd_loader_identify(
	const void *bytes, size_t n_bytes, struct clv_icd_loader *ret)
{
	*ret = (struct clv_icd_loader){.kind = "an unknown loader"};
	for (size_t i = ARRAY_SIZE(kinds); i-- > 0;) {
		if (has(bytes, n_bytes, kinds[i].text))
			ret->kind = kinds[i].kind;
	}
	for (size_t i = ARRAY_SIZE(variables); i-- > 0;) {
		if (has(bytes, n_bytes, variables[i]))
			ret->layers = variables[i];
	}
	for (size_t i = 0; i < CLV_ICD_N_DETOURS; i++)
		ret->reads[i] = has(bytes, n_bytes, clv_icd_variables[i]);
	ret->has_folder =
		memmem(bytes, n_bytes, folder, sizeof(folder)) ||
		memmem(bytes, n_bytes, folder_before_2020, sizeof(folder_before_2020));
	find_own_folder(bytes, n_bytes, ret->own_folder);
	find_version(bytes, n_bytes, ret->version, sizeof(ret->version));
}

void clv_icd_loader_describe(
	const struct clv_icd_loader *loader, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s%s%s", loader->kind, loader->version[0] ? " " : "",
		loader->version);
}
