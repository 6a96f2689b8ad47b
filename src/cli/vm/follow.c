/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vms --follow: what happens to virtual machines and their partitions.  An event
 * of libvirt is a line; the machine is then read again, and the partitions that its XML
 * has got or lost are lines too.  What happened while a libvirt was away is found by
 * comparing its machines with those before. */
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "bridge/libvirt/host/watch.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/table.h"
#include "cli/vm/actions.h"
#include "cli/vm/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a libvirt that has gone away is looked for, and how often. */
#define LOST_NS (30 * CLV_NS_PER_S)
#define LOST_PAUSE_MS 250
#define AWAY "while libvirt was away"

/* A libvirt that is back may show a machine that has ended as running for a moment, and
 * sends no event when it notices: its machines are compared again after so long. */
#define SETTLE_NS (10 * CLV_NS_PER_S)

/* A libvirt that went away. */
struct lost {
	const char *uri;
	uint64_t until_ns; /* 0: it is not looked for any more */
	bool is_back;
};

struct follow {
	const struct clv_vms_settings *settings;
	struct clv_vm_session session; /* its guests as they were last seen */
	struct clv_vm_watch *watch;
	struct lost *lost;
	size_t n_lost, n_given_up;
	struct clv_table_state table;
};

/* --- A line for an event --- */

static void cell_time(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *time = clv_json_text(row, "time");

	snprintf(ret, CLV_CELL_MAX, "%.*sZ", (int)strcspn(time, ".Z"), time);
}

static void cell_device(const json_t *row, char ret[CLV_CELL_MAX])
{
	const char *partition = clv_json_text(row, "partition");

	snprintf(ret, CLV_CELL_MAX, "%s",
		partition[0] ? partition : clv_json_text(row, "device"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header    cell         right  fit    rank rare   key */
	{ "TIME",    cell_time,   false, WHOLE, 2,   false, NULL },
	{ "TYPE",    NULL,        false, WHOLE, 0,   false, "type" },
	{ "NAME",    NULL,        false, WHOLE, 0,   false, "name" },
	{ "DEVICE",  cell_device, false, WHOLE, 0,   false, NULL },
	{ "HOST",    NULL,        false, WHOLE, 3,   false, "host" },
	{ "REASON",  NULL,        false, WRAP,  1,   false, "reason" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
};

static const char *or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

static const char *host_of(const struct follow *follow, const char *uri)
{
	for (size_t i = 0; i < follow->session.guests.n; i++) {
		if (strcmp(follow->session.guests.items[i].uri, uri) == 0)
			return follow->session.guests.items[i].host;
	}
	return NULL;
}

static int print(
	struct follow *follow, const struct clv_vm_event *event, const char *partition)
{
	_cleanup_json_ json_t *row = NULL;
	char time[32];

	clv_clock_format_rfc3339(event->real_ns, time);
	row = json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s}", "time",
		time, "type", event->type, "reason", or_null(event->reason), "name",
		or_null(event->name), "uuid", or_null(event->uuid), "device",
		or_null(event->alias), "partition", or_null(partition), "host",
		host_of(follow, event->uri), "uri", event->uri);
	if (clv_output_next(&listing, follow->settings->vm.common.output, row,
		    &follow->table) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the events: %m");
	return 0;
}

/* --- The partitions of machines --- */

static struct clv_vm_guest *find_known(
	struct follow *follow, const char *uri, const char *uuid)
{
	for (size_t i = 0; i < follow->session.guests.n; i++) {
		struct clv_vm_guest *guest = &follow->session.guests.items[i];

		if (strcmp(guest->uri, uri) == 0 && strcmp(guest->config.uuid, uuid) == 0)
			return guest;
	}
	return NULL;
}

static const char *noted_name(const struct clv_vm_guest *guest, const char *lease)
{
	for (size_t i = 0; guest && i < guest->config.n_notes; i++) {
		if (strcmp(guest->config.notes[i].lease, lease) == 0)
			return guest->config.notes[i].partition;
	}
	return NULL;
}

/* The partition of cleave's that the alias stands for, until the next call; "": none.  A
 * lease that has ended is in the machine's metadata, one that is new at the agent. */
static const char *partition_of(
	struct follow *follow, const char *alias, const struct clv_vm_guest *guest)
{
	const char *id = clv_vm_lease_of_alias(alias), *noted;
	const struct clv_vm_lease *lease;

	if (!id)
		return "";
	lease = clv_vm_lease_by_id(&follow->session.inventory, id);
	noted = noted_name(guest, id);
	if (!lease && !noted && clv_vm_session_reread(&follow->session) == 0)
		lease = clv_vm_lease_by_id(&follow->session.inventory, id);
	return lease ? lease->partition : noted ? noted : "";
}

/* A line for each partition in the XML of one that is not in that of other. */
static int print_others(struct follow *follow, const char *type, const char *reason,
	const struct clv_vm_guest *one, const struct clv_vm_domain *other)
{
	int r = 0;

	for (size_t i = 0; i < one->config.n_hostdevs && r == 0; i++) {
		const char *alias = one->config.hostdevs[i].alias;
		const char *lease = clv_vm_lease_of_alias(alias);
		struct clv_vm_event event = {.real_ns = clv_clock_real_ns(),
			.type = type,
			.reason = reason,
			.uri = one->uri};

		if (!lease || (other && clv_vm_find_lease(other, lease)))
			continue;
		memcpy(event.uuid, one->config.uuid, sizeof(event.uuid));
		snprintf(event.name, sizeof(event.name), "%s", one->config.name);
		memcpy(event.alias, alias, sizeof(event.alias));
		r = print(follow, &event, partition_of(follow, alias, one));
	}
	return r;
}

/* Either may be NULL: the machine was defined or is gone.  What a machine had when it was
 * undefined is shown by cleave vms. */
static int print_partitions(struct follow *follow, const struct clv_vm_guest *before,
	const struct clv_vm_guest *after, const char *reason)
{
	int r = 0;

	if (before && after)
		r = print_others(follow, "unassigned", reason, before, &after->config);
	if (!r && after)
		r = print_others(follow, "assigned", reason, after,
			before ? &before->config : NULL);
	return r;
}

/* --- What happens while all answer --- */

static void forget(struct follow *follow, struct clv_vm_guest *guest)
{
	struct clv_vm_guests *guests = &follow->session.guests;

	clv_vm_guest_clear(guest);
	*guest = guests->items[--guests->n];
}

/* Takes the guest over, and leaves an empty one. */
static int keep(struct follow *follow, struct clv_vm_guest *guest)
{
	struct clv_vm_guests *guests = &follow->session.guests;
	struct clv_vm_guest *known = find_known(follow, guest->uri, guest->config.uuid);

	if (!known)
		known = CLV_APPEND(guests->items, guests->n);
	if (!known)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	clv_vm_guest_clear(known);
	*known = *guest;
	*guest = (struct clv_vm_guest){0};
	return 0;
}

/* Reads the machine again.  One that cannot be read stays as it was. */
static int update(struct follow *follow, const struct clv_vm_event *event)
{
	struct clv_vm_guest *known = find_known(follow, event->uri, event->uuid);
	struct clv_vm_guest now;
	struct clv_error why = {0};
	int r = clv_vm_host_read(
		follow->session.host, event->uri, event->uuid, &now, &why);

	if (r == -ENOENT && known)
		forget(follow, known);
	if (r < 0)
		return 0;
	r = print_partitions(follow, known, &now, "");
	if (!r)
		r = keep(follow, &now);
	clv_vm_guest_clear(&now);
	return r;
}

static struct lost *find_lost(const struct follow *follow, const char *uri)
{
	for (size_t i = 0; i < follow->n_lost; i++) {
		if (strcmp(follow->lost[i].uri, uri) == 0)
			return &follow->lost[i];
	}
	return NULL;
}

static int lose(struct follow *follow, const struct clv_vm_event *event)
{
	struct lost *lost = find_lost(follow, event->uri);

	/* libvirt may report it twice. */
	if (lost && !lost->is_back)
		return 0;
	if (!lost)
		lost = CLV_APPEND(follow->lost, follow->n_lost);
	if (!lost)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	*lost = (struct lost){event->uri, clv_clock_ns() + LOST_NS, false};
	return print(follow, event, NULL);
}

static int handle(struct follow *follow, const struct clv_vm_event *event)
{
	int r = 0;

	if (strcmp(event->type, CLV_VM_DISCONNECTED) == 0)
		return lose(follow, event);
	if (strcmp(event->type, CLV_VM_NOTED) != 0)
		r = print(follow, event,
			partition_of(follow, event->alias,
				find_known(follow, event->uri, event->uuid)));
	return r ? r : update(follow, event);
}

/* --- What happened while a libvirt was away --- */

/* The type of the event that leads to the state. */
static const char *type_of_change(const char *before, const char *after)
{
	if (strcmp(after, "running") == 0)
		return strcmp(before, "paused") == 0 ? "resumed" : "started";
	return strcmp(after, "off") == 0 ? "stopped" : after;
}

static int print_away(
	struct follow *follow, const struct clv_vm_guest *guest, const char *type)
{
	struct clv_vm_event event = {.real_ns = clv_clock_real_ns(),
		.type = type,
		.reason = AWAY,
		.uri = guest->uri};

	memcpy(event.uuid, guest->config.uuid, sizeof(event.uuid));
	snprintf(event.name, sizeof(event.name), "%s", guest->config.name);
	return print(follow, &event, NULL);
}

static int print_change(struct follow *follow, const struct clv_vm_guest *before,
	const struct clv_vm_guest *after)
{
	const char *was = before ? before->state : "off";
	int r = 0;

	if (!before && after->is_persistent)
		r = print_away(follow, after, "defined");
	if (!r && strcmp(was, after->state) != 0)
		r = print_away(follow, after, type_of_change(was, after->state));
	return r ? r : print_partitions(follow, before, after, AWAY);
}

/* Of those at the URI that are not among the guests any more. */
static int forget_gone(
	struct follow *follow, const char *uri, const struct clv_vm_guests *guests)
{
	int r = 0;

	for (size_t i = follow->session.guests.n; i-- > 0 && r == 0;) {
		struct clv_vm_guest *guest = &follow->session.guests.items[i];

		if (strcmp(guest->uri, uri) != 0 ||
			clv_vm_find_guest(guests->items, guests->n, guest->config.uuid))
			continue;
		r = print_away(follow, guest, "undefined");
		forget(follow, guest);
	}
	return r;
}

/* guests: those of the URI, as they are now. */
static int compare(struct follow *follow, const char *uri, struct clv_vm_guests *guests)
{
	int r = guests->is_complete ? forget_gone(follow, uri, guests) : 0;

	for (size_t i = 0; i < guests->n && r == 0; i++) {
		struct clv_vm_guest *guest = &guests->items[i];

		r = print_change(
			follow, find_known(follow, uri, guest->config.uuid), guest);
		if (!r)
			r = keep(follow, guest);
	}
	return r;
}

/* Not an error if it has gone away again, which is an event. */
static int compare_again(struct follow *follow, const char *uri)
{
	_cleanup_guests_ struct clv_vm_guests guests = {0};
	struct clv_error err = {0};

	if (clv_vm_host_list_of(follow->session.host, uri, &guests, &err) < 0)
		return 0;
	return compare(follow, uri, &guests);
}

static int regain(struct follow *follow, struct lost *lost)
{
	const struct clv_vm_event event = {.real_ns = clv_clock_real_ns(),
		.type = "reconnected",
		.reason = "",
		.uri = lost->uri};
	int r = print(follow, &event, NULL);

	lost->is_back = true;
	lost->until_ns = clv_clock_ns() + SETTLE_NS;
	return r ? r : compare_again(follow, event.uri);
}

static int settle(struct follow *follow, struct lost *lost)
{
	const char *uri = lost->uri;

	if (clv_clock_ns() < lost->until_ns)
		return 0;
	*lost = follow->lost[--follow->n_lost];
	return compare_again(follow, uri);
}

/* The others are followed on; without any the command ends. */
static int give_up(struct follow *follow, struct lost *lost, const struct clv_error *err)
{
	lost->until_ns = 0;
	follow->n_given_up++;
	clv_cli_fail(CLV_EXIT_UNREACHABLE,
		"%s; it is not looked for any longer: start libvirtd, and this again",
		err->msg);
	return follow->n_given_up == clv_vm_host_count(follow->session.host)
		       ? CLV_EXIT_UNREACHABLE
		       : 0;
}

static int look_for_lost(struct follow *follow)
{
	int r = 0;

	for (size_t i = follow->n_lost; i-- > 0 && r == 0;) {
		struct lost *lost = &follow->lost[i];
		struct clv_error err = {0};

		if (lost->until_ns == 0)
			continue;
		if (lost->is_back)
			r = settle(follow, lost);
		else if (clv_vm_watch_reconnect(follow->watch, lost->uri, &err) >= 0)
			r = regain(follow, lost);
		else if (clv_clock_ns() >= lost->until_ns)
			r = give_up(follow, lost, &err);
	}
	return r;
}

/* --- */

static void end(struct follow *follow)
{
	follow->watch = clv_vm_watch_end(follow->watch);
	clv_vm_session_end(&follow->session);
	free(follow->lost);
}
#define _cleanup_follow_ CLV_CLEANUP(end)

/* What happens from the watch's begin on is in the list, an event, or both. */
static int begin(struct follow *follow)
{
	struct clv_error err = {0};
	int r = clv_vm_session_begin(&follow->settings->vm, &follow->session);

	if (r)
		return r;
	clv_vm_session_print_problems(&follow->session);
	follow->watch = clv_vm_watch_begin(follow->session.host, &err);
	if (!follow->watch)
		return clv_vm_session_fail(&err);
	return clv_vm_session_refresh(&follow->session);
}

int clv_vm_run_follow(const struct clv_vms_settings *settings)
{
	_cleanup_follow_ struct follow follow = {.settings = settings};
	int r = begin(&follow);

	while (!r) {
		bool looks = follow.n_lost > follow.n_given_up;
		struct clv_vm_event event;
		int n = clv_vm_watch_next(
			follow.watch, looks ? LOST_PAUSE_MS : -1, &event);

		if (n < 0)
			r = clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
		else if (n > 0)
			r = handle(&follow, &event);
		if (!r && looks)
			r = look_for_lost(&follow);
	}
	return r;
}
