/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The CDI files of the vendors (nvidia-ctk cdi generate, amd-ctk cdi generate), from
 * which cleave's own entries take what a device needs in a container. */

/* Reads the files in the folders, of which the first has precedence: an array of CDI's
 * specifications.  Files of cleave, of other kinds, and those that cannot be read are
 * left out.  The caller owns the array. */
json_t *clv_cdi_vendor_read(const char *const *folders, size_t n);

/* A number that changes when one of these files is written, added or removed. */
uint64_t clv_cdi_vendor_stamp(const char *const *folders, size_t n);

/* Adds what the vendor's entry of the device has to edits (CDI's containerEdits).
 * device is an item of `devices` in the API's leases, nodes are its device nodes: an
 * entry of NVIDIA has the device's UUID as its name, one of AMD has its render node.
 * Returns false and adds nothing if there is no such entry. */
bool clv_cdi_vendor_add(
	const json_t *specs, const json_t *device, const json_t *nodes, json_t *edits);

/* Appends what is in the lists of `more` to those of edits. */
void clv_cdi_append(json_t *edits, const json_t *more);
