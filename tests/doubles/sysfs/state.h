/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

/* The mutable state, in the file "state" of the control folder: a line SUBJECT FIELD
 * VALUE for each value that is not zero. */

void sy_state_init(const char *control);
/* Loads the state; false without a file. */
bool sy_state_load(void);
/* Writes it if it differs from the last written one. */
void sy_state_save(void);
