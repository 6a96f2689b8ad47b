/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/serve/serve.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Services with a rate and a latency each, in YAML, and for each a table in CSV of what
 * was measured on MIG instances, with the columns of ParvaGPU's published profiles.
 * docs/placement.md describes both. */

/* A row of the table of a service. */
struct clv_serve_measure {
	uint8_t size; /* index of clv_serve_slices */
	uint32_t batch, n_processes;
	double rate;      /* requests a second of all processes together */
	double latency_s; /* of a batch */
};

struct clv_serve_entry {
	char name[64];
	double rate;         /* requests a second, above 0 */
	uint64_t latency_ns; /* from the arrival of a request to its answer, above 0 */
	struct clv_serve_measure *measures;
	size_t n_measures;
};

struct clv_serve_file {
	char model[64];
	struct clv_serve_entry *entries; /* at least one */
	size_t n_entries;
};

/* Reads the file and the tables that it names, whose paths begin at its folder.
 * clv_serve_file_done() frees *ret.  -EINVAL with line and column, -ENOMEM, or the errno
 * of a file that cannot be read. */
int clv_serve_file_read(
	const char *path, struct clv_serve_file *ret, struct clv_error *err);
void clv_serve_file_done(struct clv_serve_file *file);

/* The row with the highest rate of those of an instance's size in which a batch takes at
 * most part_ppm of the latency of the service; NULL if there is none. */
const struct clv_serve_measure *clv_serve_file_best(
	const struct clv_serve_entry *entry, unsigned size, uint32_t part_ppm);
