/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLV_ICD_LOADER_SONAME "libOpenCL.so.1"
#define CLV_ICD_FOLDER_MAX 256

/* Environment variables that make loaders use drivers other than those of the system's
 * folder. */
enum clv_icd_variable {
	CLV_ICD_VENDORS,
	CLV_ICD_VENDOR_PATH,
	CLV_ICD_FILENAMES, /* libraries, in addition to those of a folder */
	CLV_ICD_N_DETOURS,
};
extern const char *const clv_icd_variables[CLV_ICD_N_DETOURS];

/* An OpenCL loader, identified from the bytes of its library.  Where a program chooses
 * its drivers itself, the gate can only be a layer, and not all loaders support layers:
 * ocl-icd does since 2.2.14, Khronos' loader since December 2020 if built so; both by
 * OCL_ICD_LAYERS first, and by OPENCL_LAYERS since spring 2021 (ocl-icd 2.3.0,
 * v2021.04.29).  Whether a loader accepts this gate shows only when it loads it. */
struct clv_icd_loader {
	const char *kind;   /* "ocl-icd" */
	char version[16];   /* "2.3.1"; "": unknown */
	const char *layers; /* variable that names layers; NULL: no support for layers */
	/* It loads the drivers that /etc/OpenCL/vendors names, so the gate can be one of
	 * them instead of a layer. */
	bool has_folder;
	/* Another folder of drivers that it reads, as Conda's loader does; "": none. */
	char own_folder[CLV_ICD_FOLDER_MAX];
	bool reads[CLV_ICD_N_DETOURS]; /* whether it reads the variable */
};

void clv_icd_loader_identify(
	const void *bytes, size_t n_bytes, struct clv_icd_loader *ret);

/* "ocl-icd 2.3.1" */
void clv_icd_loader_describe(
	const struct clv_icd_loader *loader, char *ret, size_t ret_bytes);
