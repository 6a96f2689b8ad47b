/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stddef.h>
#include <stdint.h>

/* What a driver reports of a device at one moment: figures, signs of faults, and the
 * processes that use it.  Plain data, filled by backends. */

/* Signs of faults: a count or, where marked, 1; 0: no fault of this kind. */
enum clv_sign {
	CLV_SIGN_LOST,   /* 1: the driver lost the device */
	CLV_SIGN_SILENT, /* 1: the driver did not answer in time */
	CLV_SIGN_ECC,    /* uncorrectable memory errors since the driver was loaded */
	CLV_SIGN_ROWS_PENDING,  /* 1: rows of memory that the next reset remaps */
	CLV_SIGN_ROWS_FAILED,   /* 1: a row could not be remapped */
	CLV_SIGN_PAGES_PENDING, /* pages of memory that the next reload retires */
	CLV_SIGN_PAGES_FAILED,  /* pages of memory that could not be retired */
	CLV_SIGN_RAS,           /* uncorrectable errors of other blocks */
	CLV_SIGN_DUMP,          /* 1: a hang left a device coredump */
	_CLV_SIGN_MAX,
};

#define CLV_READING_XIDS 8u /* in one reading; more are left out */

/* The driver's figures for one process on a device or a part of it. */
struct clv_reading_process {
	uint32_t pid;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: not reported */
	/* by this process, of the device, 0 to 1; NAN: not reported */
	double utilization;
	char partition[CLV_PARTITION_NAME_MAX]; /* "": the device as a whole */
};

#define CLV_READING_UNKNOWN UINT64_MAX

struct clv_reading {
	char uuid[96];
	/* NAN: not reported. */
	double power_watts;
	double temperature_celsius; /* of the chip */
	double energy_joules;       /* since the driver was loaded; monotonic */
	double utilization; /* part of the last moments with work on the device, 0 to 1 */
	double encoder, decoder;    /* the same for its video engines */
	uint64_t memory_used_bytes; /* CLV_READING_UNKNOWN: not reported */
	uint64_t signs[_CLV_SIGN_MAX];
	uint32_t xids[CLV_READING_XIDS]; /* NVIDIA: errors since the previous reading */
	size_t n_xids;
	struct clv_reading_process *processes; /* owned */
	size_t n_processes;
	bool has_processes; /* the driver lists processes */
	/* The processes' utilization is a mean over time, not a momentary value: its sum
	 * over readings tells how much they computed. */
	bool has_mean_utilization;
};

struct clv_readings {
	struct clv_reading *items; /* owned */
	size_t n;
};

/* Initializes a reading in which nothing is known. */
void clv_reading_begin(struct clv_reading *reading, const char *uuid);
void clv_reading_clear(struct clv_reading *reading);
void clv_readings_clear(struct clv_readings *readings);

/* A driver may list a process twice, for compute and for graphics, with the same memory:
 * the larger value counts.  Returns 0 or -ENOMEM. */
int clv_reading_add_process(struct clv_reading *reading, uint32_t pid,
	uint64_t memory_bytes, const char *partition);

/* Sets the utilization of a process that was added; does nothing for others. */
void clv_reading_set_utilization(struct clv_reading *reading, uint32_t pid,
	const char *partition, double utilization);
