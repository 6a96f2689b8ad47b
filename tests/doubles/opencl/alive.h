/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* True in the process that loaded the library, false in a forked child, as with a
 * vendor's runtime: the child lacks the threads. The word is in a page that the kernel
 * wipes in the child, for every kind of fork. */
extern const bool *dcl_alive_word;

static inline bool dcl_alive(void)
{
	return *dcl_alive_word;
}
