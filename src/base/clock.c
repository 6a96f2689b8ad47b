/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the clock, and RFC 3339 timestamps.  Reading a clock is inline in the header,
 * because hot paths do it. */
#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ask_kernel(clockid_t clock, struct timespec *ret)
{
	return (int)syscall(SYS_clock_gettime, clock, ret);
}

/* Initial value of clv_clock_read: chooses the implementation on first use.  Threads that
 * race here all choose the same one. */
static int read_first(clockid_t clock, struct timespec *ret)
{
	clv_vdso_clock_fn found = clv_vdso_find_clock();

	if (!found)
		found = ask_kernel;
	atomic_store_explicit(&clv_clock_read, found, memory_order_relaxed);
	return found(clock, ret);
}

_Atomic(clv_vdso_clock_fn) clv_clock_read = read_first;

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

static int parse_offset(const char *text, int64_t *ret_s)
{
	unsigned int hours, minutes;
	int n = 0;

	*ret_s = 0;
	if ((text[0] == 'Z' || text[0] == 'z') && text[1] == '\0')
		return 0;
	/* A '+' that was not percent-encoded in a query string arrives as a blank. */
	if (text[0] != '+' && text[0] != '-' && text[0] != ' ')
		return -EINVAL;
	if (sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &n) != 2 || n != 5 ||
		text[6] != '\0' || hours > 23 || minutes > 59)
		return -EINVAL;
	*ret_s = (text[0] == '-' ? -60 : 60) * (int64_t)(hours * 60 + minutes);
	return 0;
}

int clv_clock_parse_rfc3339(const char *text, int64_t *ret_s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	struct tm t = {0};
	int64_t offset_s;

	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !is_digit : text[i] != form[i])
			return -EINVAL;
	}
	sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &t.tm_year, &t.tm_mon, &t.tm_mday,
		&t.tm_hour, &t.tm_min, &t.tm_sec);
	if (t.tm_year < 1970 || t.tm_mon < 1 || t.tm_mon > 12 || t.tm_mday < 1 ||
		t.tm_mday > 31 || t.tm_hour > 23 || t.tm_min > 59 || t.tm_sec > 60)
		return -EINVAL;
	text += sizeof(form) - 1;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (parse_offset(text, &offset_s) < 0)
		return -EINVAL;
	t.tm_year -= 1900;
	t.tm_mon--;
	*ret_s = (int64_t)timegm(&t) - offset_s;
	return 0;
}
