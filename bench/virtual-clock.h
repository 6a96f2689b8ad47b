/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The clock of a gate in a program whose instructions callgrind counts.  The gate decides
 * by time which launches get a marker, and under callgrind a launch takes as long as the
 * other programs of the machine allow.  With this clock the same launches get one in each
 * run.
 *
 * Under valgrind there is no vDSO, so the gate reads its clock with the function
 * syscall() of the C library, which this program replaces.  Nothing else is virtual: the
 * kernel's timeouts, and what reads the clock with clock_gettime(), have the real time.
 */

/* From here on the gate's clock only moves by virtual_clock_advance(), which before this
 * does nothing, and a little whenever another thread than the calling one reads it: so
 * the gate's waits take time, of which it learns durations. */
void virtual_clock_start(void);

/* From here on reading the clock does not move it: the gate knows the durations. */
void virtual_clock_settle(void);

void virtual_clock_advance(uint64_t ns);
