/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* True in the process that loaded the library, false in a forked child of it, as with a
 * vendor's runtime: the threads are gone.  The word lies in a page that the kernel wipes
 * in the child, whatever call made the child. */
extern const bool *dcl_alive_word;

static inline bool dcl_alive(void)
{
	return *dcl_alive_word;
}
