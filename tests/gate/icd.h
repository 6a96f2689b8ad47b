/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the tests of the gate as an ICD share. */

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

struct object {
	const cl_icd_dispatch *table;
	void *data;
};

extern void *library; /* the gate, in the process of a test */

/* Runs a test in its own process, with or without a lease, and with these vendors. */
void in_process(void (*test)(void), bool has_lease, int first, int last);
/* The only one that the program sees. */
struct object *the_platform(void);

/* icd-devices.c */
void test_other_devices(void **state);
void test_device_by_uuid(void **state);
void test_lists_of_devices(void **state);
void test_parts_of_devices(void **state);
void test_devices_for_opengl(void **state);
