/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stddef.h>
#include <stdint.h>

/* What a driver says of a device at one moment: figures, signs of faults, and who
 * uses it.  Plain data, filled by backends. */

/* What of health a driver counts or says; 0: nothing of the kind. */
enum clv_sign {
	CLV_SIGN_LOST,   /* 1: it does not reach the device any more */
	CLV_SIGN_SILENT, /* 1: it did not answer in time */
	CLV_SIGN_ECC,    /* uncorrectable errors of memory since the driver's load */
	CLV_SIGN_ROWS_PENDING,  /* 1: rows of memory are remapped with the next reset */
	CLV_SIGN_ROWS_FAILED,   /* 1: a row could not be remapped */
	CLV_SIGN_PAGES_PENDING, /* pages of memory that are retired with the next reload
				 */
	CLV_SIGN_PAGES_FAILED,  /* pages of memory that could not be retired */
	CLV_SIGN_RAS,           /* uncorrectable errors of other blocks */
	CLV_SIGN_DUMP,          /* 1: what a hang left behind waits to be looked at */
	_CLV_SIGN_MAX,
};

#define CLV_READING_XIDS 8u /* in one reading; more are left out */

/* The driver's own account of one process on a device or on a part of it. */
struct clv_reading_process {
	uint32_t pid;
	uint64_t memory_bytes; /* CLV_READING_UNKNOWN: not said */
	double utilization; /* by this process, 0 to 1, as the device's; NAN: not said */
	char partition[CLV_PARTITION_NAME_MAX]; /* "": the device as a whole */
};

#define CLV_READING_UNKNOWN UINT64_MAX

struct clv_reading {
	char uuid[96];
	/* NAN: not said. */
	double power_watts;
	double temperature_celsius; /* of the chip */
	double energy_joules;       /* since the driver's load; only grows */
	double utilization;         /* part of the last moments with work on it, 0 to 1 */
	double encoder, decoder;    /* the same of its video engines */
	uint64_t memory_used_bytes; /* CLV_READING_UNKNOWN: not said */
	uint64_t signs[_CLV_SIGN_MAX];
	uint32_t xids[CLV_READING_XIDS]; /* NVIDIA: errors since the reading before */
	size_t n_xids;
	struct clv_reading_process *processes; /* owned */
	size_t n_processes;
	bool has_processes; /* the driver tells who uses it */
	/* The processes' utilization is that of a time, not of the moment of the reading:
	 * a sum over readings says how much they computed. */
	bool has_mean_utilization;
};

struct clv_readings {
	struct clv_reading *items; /* owned */
	size_t n;
};

/* Nothing is said yet. */
void clv_reading_begin(struct clv_reading *reading, const char *uuid);
void clv_reading_clear(struct clv_reading *reading);
void clv_readings_clear(struct clv_readings *readings);

/* A driver that lists a process twice, as one that computes and one that draws, says the
 * same of it twice: the larger counts.  -ENOMEM */
int clv_reading_add_process(struct clv_reading *reading, uint32_t pid,
	uint64_t memory_bytes, const char *partition);

/* What one that was added computes; who was not is left out. */
void clv_reading_set_utilization(struct clv_reading *reading, uint32_t pid,
	const char *partition, double utilization);
