/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

struct sy_function;
struct sy_node;

/* Readings and states of devices, in the control folder's file "readings": lines of
 *   BDF PATH TEXT
 * each of which is a file below the device's folder (hwmon/hwmon3/power1_average,
 * ras/umc_err_count, devcoredump/data), with \n in the text
 * for a newline. */

void sy_readings_init(const char *control);
/* True if the file has changed since the last call. */
bool sy_readings_refresh(void);
void sy_readings_build(const struct sy_function *f, struct sy_node *dir);
