/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/preload/library.h"

/* Functions that a vendor's library has and hooks.list does not: those of a newer
 * version. Where the name says that the function allocates or submits, nothing would
 * limit it, so a look-up does not find it, and the first one writes a line on stderr. */

/* Whether the name, which is a symbol or without its version, is of such a function. */
bool clv_name_is_unknown(const struct clv_hooked_library *library, const char *name);

/* Whether a look-up of such a function must not find it.  Attaches the process. */
bool clv_unknown_is_refused(const struct clv_hooked_library *library, const char *name);

/* Writes the line, once in a process. */
void clv_unknown_report(const struct clv_hooked_library *library, const char *name);

/* The line, once in a process, for a function that hooks.list refuses. */
void clv_refused_report(const char *name);

/* Whether the object that has this function has one of the library's known ones too: it
 * is the library, or a copy of it under another name. */
bool clv_library_contains(const struct clv_hooked_library *library, const void *function);
