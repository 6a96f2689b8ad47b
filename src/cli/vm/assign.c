/* SPDX-License-Identifier: Apache-2.0 */
/* cleave assign.  The lease comes first: from then on no other gets the partition.  Then
 * the function is put into the virtual machine, and where that fails it is taken out
 * again and the lease released.  A program that is killed in between leaves a difference,
 * which cleave vms shows and repairs. */
#include "base/error.h"
#include "base/units.h"
#include "bridge/libvirt/domain/choose.h"
#include "bridge/libvirt/domain/group.h"
#include "bridge/libvirt/domain/mmio.h"
#include "bridge/libvirt/host/change.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/vm/actions.h"
#include "cli/vm/close.h"
#include "cli/vm/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One virtual machine and what it gets. */
struct one {
	const struct clv_vm_guest *guest;
	const struct clv_vm_partition *const *partitions;
	struct clv_vm_lease *leases; /* those that were made */
	size_t n, n_leases, n_attached;
	bool is_live; /* the functions go into the running machine too */
};

struct assign {
	const struct clv_assign_settings *settings;
	struct clv_vm_session session;
	const struct clv_vm_guest **guests; /* owned */
	size_t n_guests, count;
	const struct clv_vm_partition **partitions; /* owned; count for each guest */
};

/* --- Which --- */

static size_t count_partitions(
	const struct clv_vm_session *session, const struct clv_vm_guest *guest)
{
	size_t by_lease = clv_vm_count_leases(&session->inventory, guest->config.uuid);
	size_t by_xml = clv_vm_count_partitions(&guest->config);

	return by_lease > by_xml ? by_lease : by_xml;
}

static int check_guest(const struct assign *assign, const struct clv_vm_guest *guest)
{
	if (!clv_vm_host_is_local(guest))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s is on %.100s, and the partitions of "
			"this agent are on %s: run cleave assign there",
			guest->config.name, guest->host, assign->session.inventory.node);
	if (!guest->is_persistent)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s is transient and would lose its "
			"partition: define it with virsh define first",
			guest->config.name);
	return 0;
}

static int find_all(struct assign *assign)
{
	for (size_t i = 0; i < assign->session.guests.n; i++) {
		const struct clv_vm_guest *guest = &assign->session.guests.items[i];

		if (clv_vm_host_is_local(guest) && guest->is_persistent &&
			(assign->settings->more ||
				count_partitions(&assign->session, guest) == 0))
			assign->guests[assign->n_guests++] = guest;
	}
	if (assign->n_guests == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"each virtual machine has a partition, or there is none: see "
			"cleave vms");
	return 0;
}

static int find_named(struct assign *assign, int n, char **names)
{
	for (int i = 0; i < n; i++) {
		const struct clv_vm_guest *guest =
			clv_vm_session_find(&assign->session, names[i]);
		int r = guest ? check_guest(assign, guest) : CLV_EXIT_USAGE;

		if (r)
			return r;
		assign->guests[assign->n_guests++] = guest;
	}
	return 0;
}

static int find_guests(struct assign *assign, int n, char **names)
{
	assign->guests =
		calloc(assign->session.guests.n + (size_t)n + 1, sizeof(*assign->guests));
	if (!assign->guests)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	if (assign->settings->all)
		return find_all(assign);
	return find_named(assign, n, names);
}

static int choose(struct assign *assign, const char *partition)
{
	const struct clv_assign_settings *settings = assign->settings;
	const struct clv_vm_wish wish = {
		.partition = partition,
		.profile = settings->profile,
		.memory_bytes = settings->size_bytes,
		.count = (uint32_t)settings->count,
		.more = settings->more,
	};
	_cleanup_free_ struct clv_vm_target *targets =
		calloc(assign->n_guests, sizeof(*targets));
	struct clv_error err = {0};

	assign->partitions =
		calloc(assign->n_guests * assign->count, sizeof(*assign->partitions));
	if (!targets || !assign->partitions)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < assign->n_guests; i++) {
		const struct clv_vm_guest *guest = assign->guests[i];

		targets[i] = (struct clv_vm_target){guest->config.name,
			guest->config.uuid, count_partitions(&assign->session, guest)};
	}
	if (clv_vm_choose(&assign->session.inventory, &wish, targets, assign->n_guests,
		    assign->partitions, &err) < 0)
		return clv_vm_session_fail(&err);
	return 0;
}

/* A GPU may have functions for sound or USB in its group, which libvirt leaves with their
 * drivers, so that the machine would not start. */
static int check_all_whole(const struct assign *assign)
{
	struct clv_error err = {0};
	int r = 0;

	for (size_t i = 0; i < assign->n_guests * assign->count && r >= 0; i++) {
		const struct clv_vm_partition *partition = assign->partitions[i];

		if (partition->is_whole)
			r = clv_vm_check_group(CLV_VM_SYSFS, partition->address, &err);
	}
	if (r >= 0)
		return 0;
	return clv_vm_session_fail(&err);
}

/* --- The 64-bit window --- */

static uint64_t window_needed(const struct one *one)
{
	const struct clv_vm_domain *domain = &one->guest->config;
	_cleanup_free_ const char **addresses =
		calloc(domain->n_hostdevs + one->n, sizeof(*addresses));
	size_t n = 0;

	if (!addresses)
		return 0;
	for (size_t i = 0; i < domain->n_hostdevs; i++)
		addresses[n++] = domain->hostdevs[i].address;
	for (size_t i = 0; i < one->n; i++)
		addresses[n++] = one->partitions[i]->address;
	return clv_vm_window_of(addresses, n);
}

static int set_window(
	const struct assign *assign, const struct one *one, struct clv_error *err)
{
	const char *mmio = assign->settings->mmio;
	uint64_t needed = window_needed(one), bytes = 0;
	bool is_auto = mmio && strcmp(mmio, "auto") == 0;
	int r = mmio && !is_auto ? clv_units_parse_bytes(mmio, &bytes, err)
				 : clv_vm_mmio_check(&one->guest->config, needed, err);

	if (mmio && !is_auto && r >= 0 && bytes < needed)
		return clv_error_set(err, -ENOSPC,
			"--mmio %.40s is less than its partitions need: use --mmio auto",
			mmio);
	if (is_auto && r == -ENOSPC) {
		bytes = clv_vm_mmio_choose(needed);
		r = 0;
	}
	if (r < 0 || bytes == 0)
		return r;
	return clv_vm_set_window(assign->session.host, one->guest, bytes, err);
}

/* --- One virtual machine --- */

static int make_leases(struct assign *assign, struct one *one)
{
	for (size_t i = 0; i < one->n; i++) {
		int r = clv_vm_session_lease(&assign->session, one->guest,
			one->partitions[i], &one->leases[i]);

		if (r)
			return r;
		one->n_leases++;
	}
	return 0;
}

/* A machine that runs gets its GPUs now, without the hook. */
static int close_whole(
	const struct assign *assign, const struct one *one, struct clv_error *err)
{
	_cleanup_free_ const char **addresses = calloc(one->n + 1, sizeof(*addresses));
	size_t n = 0;

	if (!addresses)
		return clv_error_errno(err, ENOMEM, "cannot close the GPUs");
	for (size_t i = 0; i < one->n && one->guest->is_running; i++) {
		if (one->partitions[i]->is_whole)
			addresses[n++] = one->partitions[i]->address;
	}
	return clv_vm_close_gpus(assign->session.client, addresses, n, err);
}

static int attach_all(const struct assign *assign, struct one *one, struct clv_error *err)
{
	while (one->n_attached < one->n) {
		const struct clv_vm_partition *partition =
			one->partitions[one->n_attached];
		char xml[CLV_VM_HOSTDEV_MAX];
		int r = clv_vm_hostdev_write(partition->means, partition->address,
			one->leases[one->n_attached].id, xml, err);

		if (r >= 0)
			r = clv_vm_attach(
				assign->session.host, one->guest, xml, one->is_live, err);
		if (r < 0)
			return r;
		one->n_attached++;
	}
	return 0;
}

/* Takes out what was put in.  What fails here is shown by cleave vms. */
static void undo(struct assign *assign, struct one *one)
{
	struct clv_error ignored;
	char alias[CLV_VM_ALIAS_MAX];

	while (one->n_attached > 0) {
		snprintf(alias, sizeof(alias), CLV_VM_ALIAS_PREFIX "%s",
			one->leases[--one->n_attached].id);
		if (one->is_live)
			clv_vm_detach_live(assign->session.host, one->guest, alias,
				CLV_VM_DETACH_MS, &ignored);
		clv_vm_detach(assign->session.host, one->guest, alias, &ignored);
	}
	while (one->n_leases > 0)
		clv_vm_session_release(&assign->session, one->leases[--one->n_leases].id);
}

/* Shuts the machine down, puts the functions in and starts it again; also without them,
 * where it does not start with them. */
static int attach_by_restart(
	struct assign *assign, struct one *one, struct clv_error *err)
{
	const struct clv_assign_settings *settings = assign->settings;
	const struct clv_vm_stop_options stop =
		clv_vm_session_stop_options(settings->timeout_ns, settings->force);
	struct clv_vm_host *host = assign->session.host;
	struct clv_error ignored;
	int r;

	clv_output_line(stderr,
		"%s; it is shut down, and started again with its partition", err->msg);
	r = clv_vm_stop(host, one->guest, &stop, err);
	if (r < 0)
		return r;
	one->is_live = false;
	r = attach_all(assign, one, err);
	if (r >= 0)
		r = clv_vm_start(host, one->guest, err);
	if (r >= 0)
		return 0;
	undo(assign, one);
	clv_vm_start(host, one->guest, &ignored);
	return r;
}

static int explain_live(const struct one *one, struct clv_error *err)
{
	size_t used = strlen(err->msg);

	snprintf(err->msg + used, sizeof(err->msg) - used,
		"; shut %.60s down first, or add --restart", one->guest->config.name);
	return err->code;
}

static int attach_one(struct assign *assign, struct one *one, struct clv_error *err)
{
	int r;

	one->is_live = one->guest->is_running;
	r = attach_all(assign, one, err);
	if (r == -ECONNREFUSED || r >= 0)
		return r;
	if (one->is_live && assign->settings->restart)
		return attach_by_restart(assign, one, err);
	return one->is_live ? explain_live(one, err) : r;
}

/* What the machine does when the host goes down is kept in its metadata. */
static int note(struct assign *assign, const struct one *one, struct clv_error *err)
{
	const char *action = assign->settings->offline_action;
	bool shuts_down = !action || strcmp(action, "shutdown") == 0;

	return clv_vm_session_note(&assign->session, one->guest, shuts_down, err);
}

static int assign_one(struct assign *assign, struct one *one)
{
	struct clv_error err = {0};
	int r = make_leases(assign, one);

	if (!r && (set_window(assign, one, &err) < 0 ||
			  close_whole(assign, one, &err) < 0 ||
			  attach_one(assign, one, &err) < 0))
		r = clv_vm_session_fail(&err);
	if (r)
		undo(assign, one);
	return r;
}

static int assign_all(struct assign *assign)
{
	int result = 0;

	for (size_t i = 0; i < assign->n_guests; i++) {
		struct one one = {
			.guest = assign->guests[i],
			.partitions = assign->partitions + i * assign->count,
			.n = assign->count,
			.leases = calloc(assign->count, sizeof(struct clv_vm_lease)),
		};
		int r = one.leases ? assign_one(assign, &one) : CLV_EXIT_FAILED;

		if (r && !result)
			result = r;
		free(one.leases);
	}
	return result;
}

/* After all leases are made: reading them again voids the chosen partitions. */
static int note_all(struct assign *assign)
{
	int result = clv_vm_session_reread(&assign->session);

	for (size_t i = 0; !result && i < assign->n_guests; i++) {
		const struct one one = {.guest = assign->guests[i]};
		struct clv_error err = {0};

		if (note(assign, &one, &err) < 0)
			result = clv_vm_session_fail(&err);
	}
	return result;
}

/* note_all() has read the leases. */
static int show(struct assign *assign)
{
	const struct clv_vm_session *session = &assign->session;
	_cleanup_free_ char(*copies)[CLV_VM_UUID_MAX] =
		calloc(assign->n_guests, CLV_VM_UUID_MAX);
	_cleanup_free_ const char **uuids = calloc(assign->n_guests, sizeof(*uuids));

	if (!copies || !uuids)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < assign->n_guests; i++) {
		memcpy(copies[i], assign->guests[i]->config.uuid, CLV_VM_UUID_MAX);
		uuids[i] = copies[i];
		clv_vm_session_reread_guest(&assign->session, uuids[i]);
	}
	return clv_vm_session_show(&session, 1, uuids, assign->n_guests);
}

static void end(struct assign *assign)
{
	clv_vm_session_end(&assign->session);
	free(assign->guests);
	free(assign->partitions);
}
#define _cleanup_assign_ CLV_CLEANUP(end)

/* Whether the word is a GPU and no virtual machine. */
static bool is_gpu(const struct clv_vm_session *session, const char *word)
{
	for (size_t i = 0; i < session->guests.n; i++) {
		if (strcmp(session->guests.items[i].config.name, word) == 0)
			return false;
	}
	for (size_t i = 0; i < session->inventory.n_partitions; i++) {
		if (strcmp(session->inventory.partitions[i].device, word) == 0)
			return true;
	}
	return false;
}

/* A name with a slash is a partition's: libvirt allows none in a machine's. */
static bool is_partition(const struct clv_vm_session *session, const char *word)
{
	return strchr(word, '/') || is_gpu(session, word);
}

static int check_words(const struct clv_assign_settings *settings, int n)
{
	if (settings->all ? n > 0 : n == 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"name the virtual machines, or write --all for those without a "
			"partition, which takes no names: see cleave vms");
	return 0;
}

int clv_vm_run_assign(const void *userdata, int argc, char **argv)
{
	_cleanup_assign_ struct assign assign = {.settings = userdata};
	const char *partition = NULL;
	int r = check_words(assign.settings, argc), result;

	assign.count = assign.settings->count ? assign.settings->count : 1;
	if (!r)
		r = clv_vm_session_begin(&assign.settings->vm, &assign.session);
	if (!r && argc > 0 && is_partition(&assign.session, argv[0])) {
		partition = *argv++;
		r = check_words(assign.settings, --argc);
	}
	if (!r)
		r = find_guests(&assign, argc, argv);
	if (!r)
		r = choose(&assign, partition);
	if (!r)
		r = check_all_whole(&assign);
	if (r)
		return r;
	result = assign_all(&assign);
	r = note_all(&assign);
	if (!r)
		r = show(&assign);
	return result ? result : r;
}
