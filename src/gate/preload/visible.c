/* SPDX-License-Identifier: Apache-2.0 */
/* Restricts a vendor's runtime to the lease's devices by its environment variable. */
#include "gate/preload/visible.h"

#include "gate/preload/elf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICES_MAX 64

/* UUIDs separated by commas, each identified by where it begins. */
struct devices {
	const char *items[DEVICES_MAX];
	bool is_shown[DEVICES_MAX];
	uint32_t n, n_before;
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

/* Finds a device by its number, as the driver writes it. */
static uint32_t find_by_number(const struct devices *devices, const char *entry, size_t n)
{
	char digits[16];

	for (uint32_t i = 0; i < devices->n; i++) {
		snprintf(digits, sizeof(digits), "%u", i + devices->n_before);
		if (strlen(digits) == n && strncmp(digits, entry, n) == 0)
			return i;
	}
	return DEVICES_MAX;
}

/* Whether the entry is the item's name, or a prefix of it that is long enough to be
 * one. */
static bool is_named(const char *item, const char *entry, size_t n)
{
	size_t length = item_length(item);

	return (n == length || (n > 4 && n < length)) && strncasecmp(entry, item, n) == 0;
}

/* Finds the device that an entry of the list names, by name or number. */
static uint32_t find_device(const struct devices *devices, const char *entry, size_t n)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (is_named(devices->items[i], entry, n))
			return i;
	}
	return find_by_number(devices, entry, n);
}

/* As with the driver itself, an entry that names no device of the lease, or one that was
 * named before, ends the list. */
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

/* Uses libc's setenv: a program may define its own, which every library in it would
 * call. */
static void set(const char *variable, const char *list)
{
	int (*libcs)(const char *, const char *, int) = (int (*)(const char *,
		const char *, int))(uintptr_t)clv_elf_find_in_libc("setenv");

	(libcs ? libcs : setenv)(variable, list, 1);
}

void clv_visible_choose(const char *variable, const char *names, uint32_t n_before)
{
	struct devices devices = read_devices(names);
	const char *said = getenv(variable), *former = getenv(CLV_VISIBLE_SET);
	/* A value that was set for the program before a renumbering is not the program's
	 * own restriction. */
	bool is_own = said && (!former || strcmp(said, former) != 0);
	char *list = calloc(1, strlen(names) + 1);

	devices.n_before = n_before;
	if (devices.n > 0 && list) {
		choose_devices(&devices, is_own ? said : names, list);
		if (!said || strcmp(said, list) != 0)
			set(variable, list);
		/* The variable is never added: the environment would be reallocated while
		 * other threads read it. */
		if (!is_own && former && strcmp(former, list) != 0)
			set(CLV_VISIBLE_SET, list);
	}
	free(list);
}
