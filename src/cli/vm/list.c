/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vms: the virtual machines, their partitions, what differs, and its repair. */
#include "base/error.h"
#include "bridge/libvirt/host/change.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/vm/actions.h"
#include "cli/vm/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void cell_partitions(const json_t *row, char ret[CLV_CELL_MAX])
{
	json_t *names = json_array(), *partition;
	size_t i;

	json_array_foreach (json_object_get(row, "partitions"), i, partition)
		json_array_append(names, json_object_get(partition, "name"));
	clv_cell_list(names, ", ", ret);
	json_decref(names);
}

static void cell_memory(const json_t *row, char ret[CLV_CELL_MAX])
{
	uint64_t bytes = 0;
	json_t *partition;
	size_t i;

	ret[0] = '\0';
	json_array_foreach (json_object_get(row, "partitions"), i, partition)
		bytes += clv_json_bytes(partition, "memory_bytes");
	if (bytes > 0)
		clv_cell_bytes(bytes, ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header       cell             right  fit    rank rare   key */
	{ "NAME",       NULL,            false, WHOLE, 0,   false, "name" },
	{ "STATE",      NULL,            false, WHOLE, 2,   false, "state" },
	{ "PARTITIONS", cell_partitions, false, WRAP,  0,   false, NULL },
	{ "MEMORY",     cell_memory,     true,  WHOLE, 3,   true,  NULL },
	{ "OFFLINE",    NULL,            false, WHOLE, 5,   true,  "offline_action" },
	{ "HOST",       NULL,            false, WHOLE, 4,   false, "host" },
	{ "UUID",       NULL,            false, WHOLE, 6,   false, "uuid" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "name",
	.none = "no virtual machine: define one with virsh or virt-install",
};

static json_t *partition_to_json(
	const struct clv_vm_lease *lease, const struct clv_vm_partition *partition)
{
	return json_pack("{s:s, s:s, s:s?, s:s?, s:o}", "name", lease->partition, "lease",
		lease->id, "profile", partition ? partition->profile : NULL, "address",
		partition ? partition->address : NULL, "memory_bytes",
		partition ? json_integer((json_int_t)partition->memory_bytes)
			  : json_null());
}

static json_t *partitions_of(
	const struct clv_vm_inventory *inventory, const struct clv_vm_guest *guest)
{
	json_t *array = json_array();

	for (size_t i = 0; i < inventory->n_leases; i++) {
		const struct clv_vm_lease *lease = &inventory->leases[i];

		if (strcmp(lease->vm, guest->config.uuid) == 0)
			json_array_append_new(array,
				partition_to_json(lease, clv_vm_find_partition(inventory,
								 lease->partition)));
	}
	return array;
}

static json_t *guest_to_json(
	const struct clv_vm_inventory *inventory, const struct clv_vm_guest *guest)
{
	json_t *partitions = partitions_of(inventory, guest);
	bool has_any = json_array_size(partitions) > 0;

	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s?, s:s?, s:o}", "name",
		guest->config.name, "uuid", guest->config.uuid, "state", guest->state,
		"persistent", guest->is_persistent, "uri", guest->uri, "host",
		guest->host, "offline_action",
		!has_any                   ? NULL
		: guest->config.shuts_down ? "shutdown"
					   : "none",
		"partitions", partitions);
}

static bool is_among(const char *uuid, const char *const *uuids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(uuids[i], uuid) == 0)
			return true;
	}
	return !uuids;
}

static json_t *differences_to_json(const struct clv_vm_differences *differences)
{
	json_t *array = json_array();
	char text[512];

	for (size_t i = 0; i < differences->n; i++) {
		const struct clv_vm_difference *each = &differences->items[i];

		clv_vm_difference_describe(each, text, sizeof(text));
		json_array_append_new(array,
			json_pack("{s:s, s:s, s:b, s:s}", "kind",
				clv_vm_difference_to_string(each->kind), "uuid",
				each->guest ? each->guest->config.uuid : each->lease->vm,
				"repairable",
				clv_vm_difference_repair(each->kind) !=
					CLV_VM_REPAIR_NONE,
				"text", text));
	}
	return array;
}

static int compare(const struct clv_vm_session *session, struct clv_vm_differences *ret)
{
	if (clv_vm_compare(&session->inventory, session->guests.items, session->guests.n,
		    session->guests.is_complete, ret) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	return 0;
}

static void print_differences(const json_t *differences)
{
	json_t *each;
	size_t i;

	json_array_foreach (differences, i, each)
		clv_output_line(stderr, "%s", clv_json_text(each, "text"));
}

static void add_guests(const struct clv_vm_session *session, const char *const *uuids,
	size_t n_uuids, json_t *items)
{
	for (size_t i = 0; i < session->guests.n; i++) {
		const struct clv_vm_guest *guest = &session->guests.items[i];

		if (is_among(guest->config.uuid, uuids, n_uuids))
			json_array_append_new(
				items, guest_to_json(&session->inventory, guest));
	}
}

static int print_list(const struct clv_vm_session *session, const json_t *list)
{
	if (clv_output_list(&listing, session->settings->common.output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the list: %m");
	return CLV_EXIT_OK;
}

int clv_vm_session_show(const struct clv_vm_session *const *sessions, size_t n_sessions,
	const char *const *uuids, size_t n_uuids)
{
	_cleanup_json_ json_t *list = json_object();
	json_t *items = json_array();

	json_object_set_new(list, "items", items);
	for (size_t i = 0; i < n_sessions; i++)
		add_guests(sessions[i], uuids, n_uuids, items);
	return print_list(sessions[0], list);
}

/* All, and what differs. */
static int show_all(const struct clv_vm_session *session)
{
	const char *format = session->settings->common.output;
	_cleanup_json_ json_t *list = json_object();
	json_t *items = json_array(), *differences;
	struct clv_vm_differences found;
	int r = compare(session, &found);

	json_object_set_new(list, "items", items);
	if (r)
		return r;
	add_guests(session, NULL, 0, items);
	differences = differences_to_json(&found);
	free(found.items);
	json_object_set_new(list, "differences", differences);
	if (!format || strcmp(format, "table") == 0)
		print_differences(differences);
	return print_list(session, list);
}

/* --- Repair --- */

static int attach(const struct clv_vm_session *session,
	const struct clv_vm_difference *difference, struct clv_error *err)
{
	const struct clv_vm_partition *partition = difference->partition;
	char xml[CLV_VM_HOSTDEV_MAX];
	int r = clv_vm_hostdev_write(
		partition->means, partition->address, difference->lease->id, xml, err);

	return r < 0 ? r
		     : clv_vm_attach(session->host, difference->guest, xml, false, err);
}

static int detach(const struct clv_vm_session *session,
	const struct clv_vm_difference *difference, struct clv_error *err)
{
	const char *alias = difference->hostdev->alias;

	if (difference->is_in_config)
		return clv_vm_detach(session->host, difference->guest, alias, err);
	return clv_vm_detach_live(
		session->host, difference->guest, alias, CLV_VM_DETACH_MS, err);
}

static int repair_one(struct clv_vm_session *session,
	const struct clv_vm_difference *difference, struct clv_error *err)
{
	int r;

	switch (clv_vm_difference_repair(difference->kind)) {
	case CLV_VM_REPAIR_RELEASE:
		return clv_vm_session_release(session, difference->lease->id) ? -EIO : 0;
	case CLV_VM_REPAIR_ATTACH:
		return attach(session, difference, err);
	case CLV_VM_REPAIR_DETACH:
		return detach(session, difference, err);
	case CLV_VM_REPAIR_MOVE:
		r = detach(session, difference, err);
		return r < 0 ? r : attach(session, difference, err);
	default:
		return 0;
	}
}

/* Repairs what can be; each failure is printed, and the first decides the exit code. */
static int repair(struct clv_vm_session *session)
{
	struct clv_vm_differences found;
	int result = compare(session, &found);

	for (size_t i = 0; !result && i < found.n; i++) {
		struct clv_error err = {0};

		if (repair_one(session, &found.items[i], &err) < 0)
			result = err.code ? clv_vm_session_fail(&err) : CLV_EXIT_FAILED;
	}
	free(found.items);
	return result;
}

int clv_vm_run_list(const void *userdata, int argc, char **argv)
{
	const struct clv_vms_settings *settings = userdata;
	_cleanup_session_ struct clv_vm_session session = {0};
	int result = 0, r;

	if (settings->follow + settings->gpus + settings->repair > 1)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--follow, --gpus and --repair exclude one another: give one");
	if (settings->follow)
		return clv_vm_run_follow(settings);
	if (settings->gpus)
		return clv_vm_run_gpus(&settings->vm.common);
	r = clv_vm_session_begin(&settings->vm, &session);
	if (!r && settings->repair) {
		result = repair(&session);
		r = clv_vm_session_refresh(&session);
	}
	if (r)
		return r;
	clv_vm_session_print_problems(&session);
	r = show_all(&session);
	return result ? result : r;
}
