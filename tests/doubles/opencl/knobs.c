/* SPDX-License-Identifier: Apache-2.0 */
#include "knobs.h"
#include "cleave-double.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The environment variables, as a table. A value that cannot be parsed ends the process:
 * a test with a misspelled value must not run with a default instead. */

struct dcl_knobs dcl_knobs;

struct knob {
	const char *name;
	int (*parse)(const char *text, const struct knob *knob);
	void *out, *out2;
	uint64_t fallback, min, max, scale;
};

/* A plain number, with K, M, G or T where the variable is a size in bytes (scale 1). */
static int parse_number(const char *text, const struct knob *knob)
{
	static const char units[] = "KMGT";
	uint64_t value = knob->fallback, scale = knob->scale;
	const char *unit;
	char *end;

	if (text) {
		value = strtoull(text, &end, 10);
		if (end == text || *text == '-' || value < knob->min || value > knob->max)
			return -1;
		if (*end && scale == 1 && (unit = strchr(units, *end++)))
			scale <<= 10 * (unit - units + 1);
		if (*end || value > UINT64_MAX / scale)
			return -1;
	}
	*(uint64_t *)knob->out = value * scale;
	return 0;
}

static int parse_count(const char *text, const struct knob *knob)
{
	uint64_t value;
	struct knob wide = *knob;

	wide.out = &value;
	if (parse_number(text, &wide) < 0)
		return -1;
	*(cl_uint *)knob->out = (cl_uint)value;
	return 0;
}

/* "N" or "N:CODE". */
static int parse_nth(const char *text, const struct knob *knob)
{
	int code = -(int)knob->fallback;
	unsigned long nth = 0;
	char *end;

	if (text) {
		nth = strtoul(text, &end, 10);
		if (end == text || nth == 0)
			return -1;
		if (*end == ':') {
			text = end + 1;
			code = (int)strtol(text, &end, 10);
			if (end == text || code >= 0)
				return -1;
		}
		if (*end)
			return -1;
	}
	*(uint64_t *)knob->out = nth;
	*(cl_int *)knob->out2 = code;
	return 0;
}

static int parse_path(const char *text, const struct knob *knob)
{
	*(const char **)knob->out = text && *text ? text : NULL;
	return 0;
}

/* The fallback, or the one other word. */
static int parse_word(
	const char *text, const struct knob *knob, const char *usual, const char *other)
{
	if (text && strcmp(text, other) != 0 && strcmp(text, usual) != 0)
		return -1;
	*(bool *)knob->out = text && strcmp(text, other) == 0;
	return 0;
}

static int parse_order(const char *text, const struct knob *knob)
{
	return parse_word(text, knob, "fifo", "reverse");
}

static int parse_finish(const char *text, const struct knob *knob)
{
	return parse_word(text, knob, "strict", "loose");
}

static int parse_copies(const char *text, const struct knob *knob)
{
	return parse_word(text, knob, "pinned", "pageable");
}

static int parse_tables(const char *text, const struct knob *knob)
{
	static const char *const words[] = {"one", "kinds", "strange"};

	for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*(enum dcl_tables *)knob->out = (enum dcl_tables)i;
			return 0;
		}
	}
	return text ? -1 : 0;
}

/* clang-format off */
static const struct knob knobs[] = {
	{ .name = CLEAVE_DOUBLE_ENV_DEVICES, .parse = parse_count, .out = &dcl_knobs.devices,
	  .fallback = 1, .min = 1, .max = 16, .scale = 1 },
	{ .name = CLEAVE_DOUBLE_ENV_COMPUTE_UNITS, .parse = parse_count,
	  .out = &dcl_knobs.compute_units, .fallback = 8, .min = 1, .max = 32, .scale = 1 },
	{ .name = CLEAVE_DOUBLE_ENV_MEMORY, .parse = parse_number, .out = &dcl_knobs.mem_bytes,
	  .fallback = 1ULL << 30, .min = 1, .max = 1ULL << 50, .scale = 1 },
	{ .name = CLEAVE_DOUBLE_ENV_KERNEL_US, .parse = parse_number, .out = &dcl_knobs.kernel_ns,
	  .fallback = 0, .min = 0, .max = 1000000000, .scale = 1000 },
	{ .name = CLEAVE_DOUBLE_ENV_ALLOC_US, .parse = parse_number, .out = &dcl_knobs.alloc_ns,
	  .fallback = 0, .min = 0, .max = 1000000000, .scale = 1000 },
	{ .name = CLEAVE_DOUBLE_ENV_ROW, .parse = parse_number, .out = &dcl_knobs.row_bytes,
	  .fallback = 1, .min = 1, .max = 1 << 20, .scale = 1 },
	{ .name = CLEAVE_DOUBLE_ENV_OOO, .parse = parse_order, .out = &dcl_knobs.ooo_reverse },
	{ .name = CLEAVE_DOUBLE_ENV_FINISH, .parse = parse_finish,
	  .out = &dcl_knobs.loose_finish },
	{ .name = CLEAVE_DOUBLE_ENV_COPIES, .parse = parse_copies,
	  .out = &dcl_knobs.pageable_copies },
	{ .name = CLEAVE_DOUBLE_ENV_TABLES, .parse = parse_tables, .out = &dcl_knobs.tables },
	{ .name = CLEAVE_DOUBLE_ENV_FAIL_ALLOC, .parse = parse_nth,
	  .out = &dcl_knobs.fail_alloc_nth, .out2 = &dcl_knobs.fail_alloc_code,
	  .fallback = -CL_MEM_OBJECT_ALLOCATION_FAILURE },
	{ .name = CLEAVE_DOUBLE_ENV_FAIL_ENQUEUE, .parse = parse_nth,
	  .out = &dcl_knobs.fail_enqueue_nth, .out2 = &dcl_knobs.fail_enqueue_code,
	  .fallback = -CL_OUT_OF_RESOURCES },
	{ .name = CLEAVE_DOUBLE_ENV_DEVICE, .parse = parse_path, .out = &dcl_knobs.device_file },
	{ .name = CLEAVE_DOUBLE_ENV_STATS, .parse = parse_path, .out = &dcl_knobs.stats_file },
};
/* clang-format on */

void dcl_knobs_init(void)
{
	for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		const char *text = getenv(knobs[i].name);

		if (knobs[i].parse(text, &knobs[i]) < 0) {
			fprintf(stderr, "cleave-double-opencl: cannot read %s=%s\n",
				knobs[i].name, text);
			abort();
		}
	}
}

static void delay_alloc(void)
{
	struct timespec pause = {
		.tv_sec = (time_t)(dcl_knobs.alloc_ns / 1000000000),
		.tv_nsec = (long)(dcl_knobs.alloc_ns % 1000000000),
	};

	if (dcl_knobs.alloc_ns)
		nanosleep(&pause, NULL);
}

cl_int dcl_fail_alloc(void)
{
	static _Atomic uint64_t calls;

	delay_alloc();
	if (!dcl_knobs.fail_alloc_nth ||
		atomic_fetch_add(&calls, 1) + 1 != dcl_knobs.fail_alloc_nth)
		return CL_SUCCESS;
	return dcl_knobs.fail_alloc_code;
}

cl_int dcl_fail_enqueue(void)
{
	static _Atomic uint64_t calls;

	if (!dcl_knobs.fail_enqueue_nth ||
		atomic_fetch_add(&calls, 1) + 1 != dcl_knobs.fail_enqueue_nth)
		return CL_SUCCESS;
	return dcl_knobs.fail_enqueue_code;
}
