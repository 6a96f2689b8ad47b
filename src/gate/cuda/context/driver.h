/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/streams/driver.h"

extern const struct clv_stream_driver clv_cuda_stream_driver
	__attribute__((visibility("hidden")));
