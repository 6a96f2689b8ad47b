/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLV_ICD_LOADER_SONAME "libOpenCL.so.1"

/* The variables that lead loaders to other drivers than those of the system's folder. */
enum clv_icd_detour {
	CLV_ICD_VENDORS,
	CLV_ICD_VENDOR_PATH,
	CLV_ICD_FILENAMES, /* libraries, beside those of a folder */
	CLV_ICD_N_DETOURS,
};
extern const char *const clv_icd_detours[CLV_ICD_N_DETOURS];

/* An OpenCL loader, told from the bytes of its library: where a program names drivers
 * itself the gate is a layer alone, and not all loaders take one.  ocl-icd does from
 * 2.2.14 on and Khronos' from December 2020 on where it is built so; both by
 * OCL_ICD_LAYERS at first, and by OPENCL_LAYERS since spring 2021 (ocl-icd 2.3.0,
 * v2021.04.29).  Whether it takes this gate is seen only when it does. */
struct clv_icd_loader {
	const char *kind;   /* "ocl-icd" */
	char version[16];   /* "2.3.1"; "": it says none */
	const char *layers; /* the variable that names layers; NULL: it takes none */
	/* Its drivers are those that /etc/OpenCL/vendors names, where a gate can stand
	 * that is no layer. */
	bool has_folder;
	bool reads[CLV_ICD_N_DETOURS];
};

void clv_icd_loader_identify(
	const void *bytes, size_t n_bytes, struct clv_icd_loader *ret);

/* "ocl-icd 2.3.1" */
void clv_icd_loader_describe(
	const struct clv_icd_loader *loader, char *ret, size_t ret_bytes);
