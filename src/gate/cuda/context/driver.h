/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/streams/driver.h"

/* CUDA's calls, for clv_streams_begin(). */
extern const struct clv_stream_driver clv_cuda_stream_driver
	__attribute__((visibility("hidden")));
