/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/preload/visible.h"

#include "gate/preload/elf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICES_MAX 64

/* UUIDs, a comma after each but the last, are distinguished by where they begin. */
struct devices {
	const char *items[DEVICES_MAX];
	bool is_shown[DEVICES_MAX];
	uint32_t n;
};

static size_t item_length(const char *item)
{
	return strcspn(item, ",");
}

static struct devices read_devices(const char *rest)
{
	struct devices devices = {.n = 0};

	while (*rest && devices.n < DEVICES_MAX) {
		devices.items[devices.n++] = rest;
		rest += item_length(rest);
		rest += *rest == ',';
	}
	return devices;
}

/* A number as the driver writes it, that it has in the lease. */
static uint32_t find_by_number(const struct devices *devices, const char *entry, size_t n)
{
	char digits[4];

	for (uint32_t i = 0; i < devices->n; i++) {
		snprintf(digits, sizeof(digits), "%u", i);
		if (strlen(digits) == n && strncmp(digits, entry, n) == 0)
			return i;
	}
	return DEVICES_MAX;
}

/* A name as it is, or the beginning of one, as far as that is a name at all. */
static bool is_named(const char *item, const char *entry, size_t n)
{
	size_t length = item_length(item);

	return (n == length || (n > 4 && n < length)) && strncasecmp(entry, item, n) == 0;
}

/* One entry of the list: a device of the lease by its name, or by its number. */
static uint32_t find_device(const struct devices *devices, const char *entry, size_t n)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (is_named(devices->items[i], entry, n))
			return i;
	}
	return find_by_number(devices, entry, n);
}

/* The rest of one that does not name a device of the lease, or names one again, shows
 * nothing, as with the driver itself. */
static void choose_devices(struct devices *devices, const char *said, char *ret_list)
{
	while (*said) {
		size_t n = item_length(said);
		uint32_t i = find_device(devices, said, n);

		if (i == DEVICES_MAX || devices->is_shown[i])
			break;
		devices->is_shown[i] = true;
		if (*ret_list)
			strcat(ret_list, ",");
		strncat(ret_list, devices->items[i], item_length(devices->items[i]));
		said += n;
		said += *said == ',';
	}
}

/* A program may have a setenv of its own, which every library in it calls. */
static void set(const char *variable, const char *list)
{
	int (*libcs)(const char *, const char *, int) = (int (*)(const char *,
		const char *, int))(uintptr_t)clv_elf_find_in_libc("setenv");

	(libcs ? libcs : setenv)(variable, list, 1);
}

void clv_visible_choose(const char *variable, const char *names)
{
	struct devices devices = read_devices(names);
	const char *said = getenv(variable), *told = getenv(CLV_VISIBLE_TOLD);
	/* What was said for the program, when names may have been others, is no word of
	 * its own. */
	bool is_own = said && (!told || strcmp(said, told) != 0);
	char *list = calloc(1, strlen(names) + 1);

	if (devices.n > 0 && list) {
		choose_devices(&devices, is_own ? said : names, list);
		if (!said || strcmp(said, list) != 0)
			set(variable, list);
		/* Never added: the list of variables would move while other threads
		 * read it. */
		if (!is_own && told && strcmp(told, list) != 0)
			set(CLV_VISIBLE_TOLD, list);
	}
	free(list);
}
