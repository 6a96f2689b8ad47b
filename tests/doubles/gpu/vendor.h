/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The vendor of this machine. meson defines for all files of one vendor DGP_VENDOR, which
 * is part of file names, and DGP_FOLDER, the variable with the folder. */

#if !defined(DGP_VENDOR) || !defined(DGP_FOLDER)
#error "DGP_VENDOR and DGP_FOLDER must be defined"
#endif

#define DGP_SOCKET DGP_VENDOR "-double"
