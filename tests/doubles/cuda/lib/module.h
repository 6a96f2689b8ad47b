/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* Modules are text.  The first line is `cleave-double-module`; the others are
 *
 *   kernel NAME NS [BYTES]      runs for NS; its code takes BYTES from the first launch
 * on kernel NAME param           runs for as long as its parameter, a u64, says kernel
 * NAME scaled NS       runs for NS for each block of the grid kernel NAME store [NS]
 * writes its second parameter, a u32, to where the first says image BYTES what loading
 * the module takes */

/* Takes the memory of the function's code if it has not got it. */
int dcu_func_load(struct func *func, struct ctx *ctx);
