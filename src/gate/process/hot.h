/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Always inlined: the cost of a call shows in the benchmark. */
#define CLV_HOT static inline __attribute__((always_inline))
#define CLV_LIKELY(x) __builtin_expect(!!(x), 1)
#define CLV_UNLIKELY(x) __builtin_expect(!!(x), 0)
