/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/machine.h"

extern const struct dgp_kernel_driver dcu_rm;
