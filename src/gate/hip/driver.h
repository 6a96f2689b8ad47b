/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/streams/driver.h"

/* HIP's calls, for clv_streams_begin(). */
extern const struct clv_stream_driver clv_hip_stream_driver
	__attribute__((visibility("hidden")));
