/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What programs of CUDA and of HIP end with when something is not so. */

#define MIB ((size_t)1 << 20)
#define QUOTA (1024 * MIB) /* of the lease in which they run */
#define OUT_OF_MEMORY 2    /* of either API */

#define OK(call)                                                                      \
	do {                                                                          \
		int result_ = (call);                                                 \
		if (result_ != 0) {                                                   \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, \
				result_);                                             \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#condition);                                       \
			exit(1);                                                   \
		}                                                                  \
	} while (0)
