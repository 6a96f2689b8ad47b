/* SPDX-License-Identifier: Apache-2.0 */
/* cleave unassign.  A lease ends only when its function is neither in the running virtual
 * machine nor in its XML, so that no other gets a function that is still in use. */
#include "base/error.h"
#include "bridge/libvirt/host/change.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/node/change.h"
#include "cli/vm/actions.h"
#include "cli/vm/session.h"

#include <stdlib.h>
#include <string.h>

struct unassign {
	const struct clv_unassign_settings *settings;
	struct clv_vm_session session;
};

/* Takes cleave's functions out of the running machine, as far as it releases them. */
static int detach_live(struct unassign *unassign, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < guest->live.n_hostdevs && r >= 0; i++) {
		const char *alias = guest->live.hostdevs[i].alias;

		if (clv_vm_lease_of_alias(alias))
			r = clv_vm_detach_live(unassign->session.host, guest, alias,
				CLV_VM_DETACH_MS, err);
	}
	return r;
}

static int detach_config(struct unassign *unassign, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < guest->config.n_hostdevs && r >= 0; i++) {
		const char *alias = guest->config.hostdevs[i].alias;

		if (guest->is_persistent && clv_vm_lease_of_alias(alias))
			r = clv_vm_detach(unassign->session.host, guest, alias, err);
	}
	return r;
}

static int release(struct unassign *unassign, const char *uuid)
{
	const struct clv_vm_inventory *inventory = &unassign->session.inventory;
	int result = 0;

	for (size_t i = 0; i < inventory->n_leases; i++) {
		const struct clv_vm_lease *lease = &inventory->leases[i];
		int r = strcmp(lease->vm, uuid) == 0
				? clv_vm_session_release(&unassign->session, lease->id)
				: 0;

		if (r)
			result = r;
	}
	return result;
}

static int stop(struct unassign *unassign, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	const struct clv_unassign_settings *settings = unassign->settings;
	const struct clv_vm_stop_options stop_options =
		clv_vm_session_stop_options(settings->timeout_ns, settings->force);

	clv_output_line(stderr,
		"%s; it is shut down, and started again without its partition", err->msg);
	return clv_vm_stop(unassign->session.host, guest, &stop_options, err);
}

static int unassign_one(struct unassign *unassign, const struct clv_vm_guest *guest)
{
	struct clv_vm_host *host = unassign->session.host;
	struct clv_error err = {0};
	bool is_stopped = false;
	int r = 0, result = 0;

	if (guest->is_running && detach_live(unassign, guest, &err) < 0) {
		r = stop(unassign, guest, &err);
		is_stopped = r >= 0;
	}
	if (r >= 0)
		r = detach_config(unassign, guest, &err);
	if (r >= 0)
		r = clv_vm_set_metadata(host, guest, NULL, 0, false, &err);
	if (r >= 0)
		result = release(unassign, guest->config.uuid);
	else
		result = clv_vm_session_fail(&err);
	/* A transient one is gone with its end. */
	if (is_stopped && guest->is_persistent && clv_vm_start(host, guest, &err) < 0 &&
		!result)
		result = clv_vm_session_fail(&err);
	return result;
}

static bool has_any(
	const struct clv_vm_session *session, const struct clv_vm_guest *guest)
{
	return clv_vm_count_leases(&session->inventory, guest->config.uuid) > 0 ||
	       clv_vm_count_partitions(&guest->config) > 0 ||
	       clv_vm_count_partitions(&guest->live) > 0;
}

/* The lease of a machine that is not defined any more, by its UUID or former name. */
static const struct clv_vm_lease *find_orphan(
	const struct clv_vm_session *session, const char *name)
{
	for (size_t i = 0; i < session->inventory.n_leases; i++) {
		const struct clv_vm_lease *lease = &session->inventory.leases[i];

		if (!clv_vm_find_guest(
			    session->guests.items, session->guests.n, lease->vm) &&
			session->guests.is_complete &&
			(strcmp(lease->vm, name) == 0 ||
				strcmp(lease->command, name) == 0))
			return lease;
	}
	return NULL;
}

static bool is_named(const struct clv_vm_guest *guest, const char *name)
{
	return strcmp(guest->config.name, name) == 0 ||
	       strcmp(guest->config.uuid, name) == 0;
}

static int unassign_named(struct unassign *unassign, const char *name)
{
	const struct clv_vm_session *session = &unassign->session;
	const struct clv_vm_lease *orphan = find_orphan(session, name);
	const struct clv_vm_guest *guest;

	for (size_t i = 0; i < session->guests.n; i++) {
		if (is_named(&session->guests.items[i], name))
			orphan = NULL;
	}
	if (orphan)
		return release(unassign, orphan->vm);
	guest = clv_vm_session_find(session, name);
	if (!guest)
		return CLV_EXIT_USAGE;
	if (!has_any(session, guest))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"the virtual machine %.100s has no partition: see cleave vms",
			guest->config.name);
	return unassign_one(unassign, guest);
}

static int unassign_all(struct unassign *unassign)
{
	const struct clv_vm_session *session = &unassign->session;
	int result = 0;

	for (size_t i = 0; i < session->guests.n; i++) {
		const struct clv_vm_guest *guest = &session->guests.items[i];
		int r = has_any(session, guest) ? unassign_one(unassign, guest) : 0;

		if (r && !result)
			result = r;
	}
	return result;
}

/* Says which running machines may be shut down. */
static int confirm(const struct unassign *unassign, int argc, char **argv)
{
	const struct clv_vm_session *session = &unassign->session;
	const struct clv_change change = {
		.common = &unassign->settings->vm.common,
		.is_confirmed = unassign->settings->yes,
		.signal_fd = -1,
	};
	char loss[160];
	size_t n = 0;

	for (size_t i = 0; i < session->guests.n; i++) {
		const struct clv_vm_guest *guest = &session->guests.items[i];
		bool is_meant = unassign->settings->all;

		for (int k = 0; k < argc; k++)
			is_meant |= is_named(guest, argv[k]);
		if (!is_meant || !guest->is_running || !has_any(session, guest))
			continue;
		if (!change.is_confirmed)
			clv_output_line(stderr,
				"%s runs: if it does not release its partition it is "
				"shut down, and started again without it",
				guest->config.name);
		n++;
	}
	if (n == 0)
		return 0;
	snprintf(loss, sizeof(loss), "%zu running virtual machine%s would be shut down",
		n, n == 1 ? "" : "s");
	return clv_change_confirm(&change, "Unassign?", loss);
}

int clv_vm_run_unassign(const void *userdata, int argc, char **argv)
{
	struct unassign unassign = {.settings = userdata};
	int result = 0, r;

	if (unassign.settings->all ? argc > 0 : argc == 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"name the virtual machines, or write --all: see cleave vms");
	r = clv_vm_session_begin(&unassign.settings->vm, &unassign.session);
	if (!r)
		r = confirm(&unassign, argc, argv);
	if (!r && unassign.settings->all)
		result = unassign_all(&unassign);
	for (int i = 0; !r && i < argc; i++) {
		int code = unassign_named(&unassign, argv[i]);

		result = result ? result : code;
	}
	clv_vm_session_end(&unassign.session);
	return r ? r : result;
}
