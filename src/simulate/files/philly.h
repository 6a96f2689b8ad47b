/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/files/rows.h"

/* The job log of Philly, a JSON array of jobs, read one job at a time.  A job is a
 * request on each machine of its first attempt, placed all or none, from its submission,
 * and for as long as from the start of the first attempt to the end of the last one.
 * Processors and memory are not in the log.  Embedded in its owner; not thread-safe. */
struct clv_philly {
	FILE *file;       /* borrowed */
	const char *name; /* in messages; borrowed */
	uint64_t line;
	uint64_t job_line; /* of the first character of the current job */
	char *text;        /* the current job */
	size_t n, room;
	/* Devices of the current job by machine, and how many of them were returned. */
	uint32_t n_devices[CLV_TRACE_GANG_MAX];
	unsigned n_parts, n_told;
	struct clv_row row;
	/* Jobs without an attempt or without a start: their size or duration is
	 * unknown. */
	uint64_t n_left_out;
};

/* The file is at the opening bracket. */
void clv_philly_init(struct clv_philly *philly, FILE *file, const char *name);
/* Returns 1 and a request, 0 at the end, -EINVAL with line and column, after which the
 * next job can be read, -EIO or -ENOMEM. */
int clv_philly_next(
	struct clv_philly *philly, struct clv_row *ret, struct clv_error *err);
void clv_philly_done(struct clv_philly *philly);
