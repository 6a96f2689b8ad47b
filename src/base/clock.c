/* SPDX-License-Identifier: Apache-2.0 */
/* Time for people.  Reading the clocks is inline in the header, since hot paths do it. */
#include "base/clock.h"

#include <stdio.h>

void clv_clock_format_rfc3339(uint64_t real_ns, char buffer[32])
{
	time_t seconds = (time_t)(real_ns / CLV_NS_PER_S);
	unsigned int ms = (unsigned int)(real_ns / CLV_NS_PER_MS % 1000);
	struct tm parts;
	size_t used;

	gmtime_r(&seconds, &parts);
	used = strftime(buffer, 32, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(buffer + used, 32 - used, ".%03uZ", ms);
}
