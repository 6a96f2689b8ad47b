/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whose machine this is.  meson says so to all that is of one vendor: DGP_VENDOR, which
 * is in the names of its files, and DGP_FOLDER, the variable that has the folder. */

#if !defined(DGP_VENDOR) || !defined(DGP_FOLDER)
#error "DGP_VENDOR and DGP_FOLDER must be defined"
#endif

#define DGP_SOCKET DGP_VENDOR "-double"
