/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Advances *text past the number.  Returns CPU_SETSIZE if there is no number or it is too
 * large. */
static unsigned long read_number(const char **text)
{
	unsigned long number = 0;
	const char *begin = *text;

	for (; **text >= '0' && **text <= '9' && number < CPU_SETSIZE; (*text)++)
		number = number * 10 + (unsigned long)(**text - '0');
	return *text == begin || number > CPU_SETSIZE ? CPU_SETSIZE : number;
}

int clv_cpus_parse(const char *text, cpu_set_t *ret)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (;; text++) {
		unsigned long first = read_number(&text), last = first;

		if (*text == '-') {
			text++;
			last = read_number(&text);
		}
		if (last >= CPU_SETSIZE || first > last)
			return -EINVAL;
		for (unsigned long i = first; i <= last; i++)
			CPU_SET(i, &cpus);
		if (*text == '\0')
			break;
		if (*text != ',')
			return -EINVAL;
	}
	*ret = cpus;
	return 0;
}

static unsigned int end_of_run(const cpu_set_t *cpus, unsigned int first)
{
	while (first + 1 < CPU_SETSIZE && CPU_ISSET(first + 1, cpus))
		first++;
	return first;
}

void clv_cpus_format(const cpu_set_t *cpus, char *ret, size_t ret_bytes)
{
	size_t used = 0;

	ret[0] = '\0';
	for (unsigned int i = 0; i < CPU_SETSIZE && used < ret_bytes; i++) {
		unsigned int last;

		if (!CPU_ISSET(i, cpus))
			continue;
		last = end_of_run(cpus, i);
		used += (size_t)snprintf(
			ret + used, ret_bytes - used, "%s%u", used ? "," : "", i);
		if (last > i && used < ret_bytes)
			used += (size_t)snprintf(
				ret + used, ret_bytes - used, "-%u", last);
		i = last;
	}
}

unsigned int clv_cpus_first(const cpu_set_t *cpus)
{
	unsigned int i = 0;

	while (i < CPU_SETSIZE && !CPU_ISSET(i, cpus))
		i++;
	return i;
}
