/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

/* What changes, in the file "state" of the control folder: a line SUBJECT FIELD VALUE for
 * all that is not zero. */

void sy_state_init(const char *control);
/* Takes it up again; false when there is none. */
bool sy_state_load(void);
/* Writes it if it is another than the last that was written. */
void sy_state_save(void);
