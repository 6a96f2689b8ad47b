/* SPDX-License-Identifier: Apache-2.0 */
/* The agent and libvirt, for the verbs of virtual machines. */
#include "cli/vm/session.h"

#include "base/error.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STOP_MS 120000

int clv_vm_session_fail(const struct clv_error *err)
{
	static const struct {
		int code;
		enum clv_exit exit_code;
	} codes[] = {
		{-EINVAL, CLV_EXIT_USAGE},
		{-ENOENT, CLV_EXIT_USAGE},
		{-EBUSY, CLV_EXIT_NO_FIT},
		{-EEXIST, CLV_EXIT_NO_FIT},
		{-ENOSPC, CLV_EXIT_NO_FIT},
		{-ENOTSUP, CLV_EXIT_NO_FIT},
		{-ETIMEDOUT, CLV_EXIT_NO_FIT},
		{-EPERM, CLV_EXIT_NOT_PERMITTED},
		{-EBADMSG, CLV_EXIT_BAD_FILE},
		{-ECONNREFUSED, CLV_EXIT_UNREACHABLE},
	};
	int exit_code = CLV_EXIT_FAILED;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(codes); i++) {
		if (codes[i].code == err->code)
			exit_code = codes[i].exit_code;
	}
	return clv_cli_fail(exit_code, "%s", err->msg);
}

struct clv_vm_stop_options clv_vm_session_stop_options(uint64_t timeout_ns, bool force)
{
	uint64_t ms = timeout_ns / 1000000;

	return (struct clv_vm_stop_options){
		.timeout_ms = ms == 0          ? STOP_MS
			      : ms > INT32_MAX ? INT32_MAX
					       : (int)ms,
		.force = force,
		.interrupt_fd = -1,
	};
}

int clv_vm_session_hold_signals(int *ret_fd)
{
	*ret_fd = clv_signals_watch(NULL);
	if (*ret_fd < 0)
		return clv_cli_fail(
			CLV_EXIT_FAILED, "cannot watch signals: %s", strerror(-*ret_fd));
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int clv_vm_session_reread(struct clv_vm_session *session)
{
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *devices = NULL;
	_cleanup_json_ json_t *leases = NULL;
	struct clv_client_error err;

	if (clv_client_node(session->client, &node, &err) < 0 ||
		clv_client_devices(session->client, &devices, &err) < 0 ||
		clv_client_leases(session->client, &leases, &err) < 0)
		return clv_cli_fail_client(&err);
	clv_vm_inventory_clear(&session->inventory);
	if (clv_vm_inventory_read(node, devices, leases, &session->inventory) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	return 0;
}

int clv_vm_session_refresh(struct clv_vm_session *session)
{
	struct clv_error err = {0};
	int r = clv_vm_session_reread(session);

	if (r)
		return r;
	clv_vm_guests_clear(&session->guests);
	if (clv_vm_host_list(session->host, &session->guests, &err) < 0)
		return clv_vm_session_fail(&err);
	return 0;
}

void clv_vm_session_reread_guest(struct clv_vm_session *session, const char *uuid)
{
	struct clv_error ignored;

	for (size_t i = 0; i < session->guests.n; i++) {
		if (strcmp(session->guests.items[i].config.uuid, uuid) == 0)
			clv_vm_host_reread(
				session->host, &session->guests.items[i], &ignored);
	}
}

static const char *uris_of(const struct clv_vm_settings *settings)
{
	const char *uri = getenv("LIBVIRT_DEFAULT_URI");

	if (settings->connect)
		return settings->connect;
	return uri && uri[0] ? uri : CLV_VM_URI;
}

int clv_vm_session_begin(
	const struct clv_vm_settings *settings, struct clv_vm_session *ret)
{
	struct clv_error err = {0};
	int r;

	*ret = (struct clv_vm_session){.settings = settings};
	r = clv_cli_connect(&settings->common, false, &ret->client);
	if (r)
		return r;
	if (clv_vm_host_open(uris_of(settings), &ret->host, &err) < 0)
		return clv_vm_session_fail(&err);
	return clv_vm_session_refresh(ret);
}

void clv_vm_session_end(struct clv_vm_session *session)
{
	clv_vm_guests_clear(&session->guests);
	clv_vm_inventory_clear(&session->inventory);
	session->host = clv_vm_host_free(session->host);
	session->client = clv_client_free(session->client);
}

void clv_vm_session_print_problems(const struct clv_vm_session *session)
{
	const char *problem;

	for (size_t i = 0; (problem = clv_vm_host_problem(session->host, i)); i++)
		clv_output_line(stderr, "%s", problem);
}

const struct clv_vm_guest *clv_vm_session_find(
	const struct clv_vm_session *session, const char *name)
{
	const struct clv_vm_guest *found = NULL;

	for (size_t i = 0; i < session->guests.n; i++) {
		const struct clv_vm_guest *guest = &session->guests.items[i];

		if (strcmp(guest->config.uuid, name) == 0)
			return guest;
		if (strcmp(guest->config.name, name) != 0)
			continue;
		if (found) {
			clv_cli_fail(CLV_EXIT_USAGE,
				"two virtual machines are named '%.100s', at %s and %s: "
				"use the UUID",
				name, found->uri, guest->uri);
			return NULL;
		}
		found = guest;
	}
	if (found)
		return found;
	clv_vm_session_print_problems(session);
	clv_cli_fail(CLV_EXIT_USAGE,
		"there is no virtual machine '%.100s': see cleave vms", name);
	return NULL;
}

/* The agent takes the name of a GPU for its parts as well, and may have divided it since
 * it was listed: the machine would get the GPU, and have a lease of a part of it. */
static int check_device(struct clv_vm_session *session, const char *lease,
	const char *leased, const char *wanted)
{
	int r;

	if (strcmp(leased, wanted) == 0)
		return 0;
	r = clv_vm_session_release(session, lease);
	return r ? r
		 : clv_cli_fail(CLV_EXIT_NO_FIT,
			   "%.72s was leased in place of %.72s, which has changed "
			   "meanwhile, and was released: try again",
			   leased, wanted);
}

int clv_vm_session_lease(struct clv_vm_session *session, const struct clv_vm_guest *guest,
	const struct clv_vm_partition *partition, struct clv_vm_lease *ret)
{
	char holder[sizeof(CLV_VM_HOLDER_PREFIX) + CLV_VM_UUID_MAX];
	struct clv_client_lease_request request = {
		.device = partition->name,
		.command = guest->config.name,
		.keep = true,
		.holder = holder,
	};
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	int r;

	snprintf(holder, sizeof(holder), CLV_VM_HOLDER_PREFIX "%s", guest->config.uuid);
	if (clv_client_lease_create(session->client, &request, &lease, &err) < 0)
		return clv_cli_fail_client(&err);
	r = check_device(session, clv_json_text(lease, "id"),
		clv_json_text(lease, "device"), partition->name);
	if (r)
		return r;
	*ret = (struct clv_vm_lease){0};
	snprintf(ret->id, sizeof(ret->id), "%s", clv_json_text(lease, "id"));
	snprintf(ret->vm, sizeof(ret->vm), "%s", guest->config.uuid);
	snprintf(ret->partition, sizeof(ret->partition), "%s", partition->name);
	return 0;
}

int clv_vm_session_release(struct clv_vm_session *session, const char *lease)
{
	struct clv_client_error err;

	if (clv_client_lease_release(session->client, lease, true, &err) < 0 &&
		strcmp(err.code, "not_found") != 0)
		return clv_cli_fail_client(&err);
	return 0;
}

int clv_vm_session_note(const struct clv_vm_session *session,
	const struct clv_vm_guest *guest, bool shuts_down, struct clv_error *err)
{
	const struct clv_vm_inventory *inventory = &session->inventory;
	_cleanup_free_ struct clv_vm_note *notes =
		calloc(inventory->n_leases + 1, sizeof(*notes));
	size_t n = 0;

	if (!notes)
		return clv_error_errno(err, ENOMEM, "cannot write metadata");
	for (size_t i = 0; i < inventory->n_leases; i++) {
		const struct clv_vm_lease *lease = &inventory->leases[i];

		if (strcmp(lease->vm, guest->config.uuid) != 0)
			continue;
		memcpy(notes[n].lease, lease->id, sizeof(notes[n].lease));
		memcpy(notes[n].partition, lease->partition, sizeof(notes[n].partition));
		n++;
	}
	return clv_vm_set_metadata(session->host, guest, notes, n, shuts_down, err);
}
