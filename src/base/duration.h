/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define CLV_NS_PER_US UINT64_C(1000)
#define CLV_NS_PER_MS UINT64_C(1000000)
#define CLV_NS_PER_S UINT64_C(1000000000)
