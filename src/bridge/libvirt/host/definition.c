/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of a domain, which moves to another host. */
#include "bridge/libvirt/host/change.h"

#include "base/error.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define _cleanup_vir_domain_ CLV_CLEANUP(virDomainFreep)

int clv_vm_read_definition(const struct clv_vm_host *host,
	const struct clv_vm_guest *guest, char **ret, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	*ret = virDomainGetXMLDesc(
		domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
	return *ret ? 0 : clv_vm_fail(err, "the XML of %.100s", guest->config.name);
}

static struct clv_vm_link *find_link(
	const struct clv_vm_host *host, const char *uri, struct clv_error *err)
{
	for (size_t i = 0; i < host->n_links; i++) {
		if (strcmp(host->links[i].uri, uri) == 0)
			return &host->links[i];
	}
	clv_error_set(err, -ENOENT, "there is no connection to %.100s", uri);
	return NULL;
}

int clv_vm_define(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *xml, struct clv_error *err)
{
	const struct clv_vm_link *link = find_link(host, guest->uri, err);
	virDomain *domain;

	if (!link)
		return err->code;
	domain = virDomainDefineXML(link->connection, xml);
	if (!domain)
		return clv_vm_fail(
			err, "libvirt at %.100s does not define it", link->uri);
	virDomainFree(domain);
	return 0;
}

/* A libvirt before this one refuses the flag. */
#define KEEPS_TPM 8009000

static unsigned int undefine_flags(virDomain *domain)
{
	unsigned long version = 0;

	virConnectGetLibVersion(virDomainGetConnect(domain), &version);
	return VIR_DOMAIN_UNDEFINE_KEEP_NVRAM |
	       (version >= KEEPS_TPM ? VIR_DOMAIN_UNDEFINE_KEEP_TPM : 0);
}

/* A driver without such files refuses the flags; without them QEMU's refuses a machine
 * that has one. */
static int undefine(virDomain *domain)
{
	int r = virDomainUndefineFlags(domain, undefine_flags(domain));

	return r < 0 && virGetLastErrorCode() == VIR_ERR_INVALID_ARG
		       ? virDomainUndefine(domain)
		       : r;
}

int clv_vm_undefine(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	/* Undefining would make it a transient one. */
	if (virDomainIsActive(domain) == 1)
		return clv_error_set(err, -EBUSY,
			"%.100s was started meanwhile: shut it down, and try again",
			guest->config.name);
	if (undefine(domain) < 0)
		return clv_vm_fail(
			err, "libvirt does not undefine %.100s", guest->config.name);
	return 0;
}

int clv_vm_get_autostart(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	bool *ret, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	int is_set = 0;

	if (!domain)
		return err->code;
	if (virDomainGetAutostart(domain, &is_set) < 0)
		return clv_vm_fail(
			err, "whether %.100s starts with its host", guest->config.name);
	*ret = is_set;
	return 0;
}

int clv_vm_set_autostart(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	bool is_wanted, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	if (virDomainSetAutostart(domain, is_wanted) < 0)
		return clv_vm_fail(err, "%.100s cannot be started with its host",
			guest->config.name);
	return 0;
}

/* --- What stays behind --- */

static int count_saved(virDomain *domain)
{
	return virDomainHasManagedSaveImage(domain, 0);
}

static int count_snapshots(virDomain *domain)
{
	return virDomainSnapshotNum(domain, 0);
}

static int count_checkpoints(virDomain *domain)
{
	return virDomainListAllCheckpoints(domain, NULL, 0);
}

static const struct {
	int (*count)(virDomain *domain);
	const char *has; /* after the machine's name */
} kept_here[] = {
	{count_saved, "has its memory saved on this host: start it, or virsh "
		      "managedsave-remove"},
	{count_snapshots,
		"has snapshots, which libvirt keeps on this host: virsh snapshot-delete"},
	{count_checkpoints, "has checkpoints, which libvirt keeps on this host: virsh "
			    "checkpoint-delete"},
};

static int check_kept_here(
	virDomain *domain, const struct clv_vm_guest *guest, struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(kept_here); i++) {
		int n = kept_here[i].count(domain);

		if (n > 0)
			return clv_error_set(err, -EBUSY, "%.100s %s", guest->config.name,
				kept_here[i].has);
		/* A driver without such a function has none of it. */
		if (n < 0 && clv_vm_fail(err, "what libvirt keeps of %.100s",
				     guest->config.name) != -ENOTSUP)
			return err->code;
	}
	return 0;
}

/* Where libvirt puts files of its own. */
#define OWN_FOLDER "/var/lib/libvirt/qemu/"

static int check_belongings(const struct clv_vm_belongings *belongings,
	const struct clv_vm_guest *guest, struct clv_error *err)
{
	const char *variables = belongings->variables;

	if (belongings->has_tpm)
		return clv_error_set(err, -ENOTSUP,
			"%.100s has a TPM, whose state stays on this host and cannot be "
			"moved: keys in it would be lost; take the TPM out with virsh "
			"edit if nothing needs it",
			guest->config.name);
	if (belongings->has_variables &&
		(variables[0] == '\0' ||
			strncmp(variables, OWN_FOLDER, strlen(OWN_FOLDER)) == 0))
		return clv_error_set(err, -ENOTSUP,
			"%.100s has its firmware's variables in a file of this host%s%s: "
			"copy it to storage that both hosts have, and name it in <nvram> "
			"with virsh edit",
			guest->config.name, variables[0] ? ", " : "", variables);
	return 0;
}

int clv_vm_check_movable(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_vm_belongings *ret, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	_cleanup_free_ char *xml = NULL;
	int r;

	if (!domain)
		return err->code;
	r = check_kept_here(domain, guest, err);
	if (r < 0)
		return r;
	xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE);
	if (!xml)
		return clv_vm_fail(err, "the XML of %.100s", guest->config.name);
	r = clv_vm_domain_belongings(xml, strlen(xml), ret, err);
	return r < 0 ? r : check_belongings(ret, guest, err);
}

/* --- Whether it is there --- */

#define LOOKS 120
#define LOOK_MS 1000

static int reopen(const struct clv_vm_host *host, const char *uri, struct clv_error *err)
{
	struct clv_vm_link *link = find_link(host, uri, err);
	virConnect *connection;

	if (!link)
		return err->code;
	if (virConnectIsAlive(link->connection) == 1)
		return 0;
	connection = clv_vm_open(uri, err);
	if (!connection)
		return err->code;
	virConnectClose(link->connection);
	link->connection = connection;
	return 0;
}

/* A start that is under way may still fail. */
static int is_starting(virDomain *domain)
{
	int state, reason;

	if (virDomainGetState(domain, &state, &reason, 0) < 0)
		return -1;
	return state == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_STARTING_UP;
}

static int settle(
	virDomain *domain, const struct clv_vm_guest *guest, struct clv_error *err)
{
	int r = is_starting(domain);

	for (int i = 0; i < LOOKS && r == 1; i++) {
		poll(NULL, 0, LOOK_MS);
		r = is_starting(domain);
	}
	if (r == 1)
		return clv_error_set(err, -ETIMEDOUT, "%.100s is still being started",
			guest->config.name);
	r = r < 0 ? r : virDomainIsActive(domain);
	return r < 0 ? clv_vm_fail(err, "the state of %.100s", guest->config.name) : r;
}

int clv_vm_find_presence(struct clv_vm_host *host, const struct clv_vm_guest *guest,
	enum clv_vm_presence *ret, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = NULL;
	int r = reopen(host, guest->uri, err);

	if (r < 0)
		return r;
	*ret = CLV_VM_ABSENT;
	domain = clv_vm_look_up(host, guest, err);
	if (!domain)
		return err->code == -ENOENT ? 0 : err->code;
	r = settle(domain, guest, err);
	if (r >= 0)
		*ret = r == 1 ? CLV_VM_RUNS : CLV_VM_OFF;
	return r < 0 ? r : 0;
}
