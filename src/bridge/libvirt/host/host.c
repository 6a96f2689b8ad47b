/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to libvirt daemons. */
#include "bridge/libvirt/host/host.h"

#include "base/array.h"
#include "base/error.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_problem(struct clv_vm_host *host, const struct clv_error *why)
{
	char(*slot)[512] = CLV_APPEND(host->problems, host->n_problems);

	if (slot)
		snprintf(*slot, sizeof(*slot), "%.511s", why->msg);
	host->is_cut_off = true;
}

const char *clv_vm_host_problem(const struct clv_vm_host *host, size_t at)
{
	return at < host->n_problems ? host->problems[at] : NULL;
}

static void explain(struct clv_error *why)
{
	size_t used = strlen(why->msg);

	snprintf(why->msg + used, sizeof(why->msg) - used,
		"; start libvirtd, or name another with --connect");
}

static void connect_to(struct clv_vm_host *host, const char *uri)
{
	struct clv_error why = {0};
	virConnect *connection = clv_vm_open(uri, &why);
	struct clv_vm_link *link;

	if (!connection) {
		explain(&why);
		add_problem(host, &why);
		return;
	}
	link = CLV_APPEND(host->links, host->n_links);
	if (!link) {
		virConnectClose(connection);
		host->is_cut_off = true;
		return;
	}
	link->connection = connection;
	link->uri = strdup(uri);
	link->name = virConnectGetHostname(connection);
}

/* libvirt's own messages would be on stderr beside those of cleave. */
static void ignore_error(void *userdata, virError *error)
{
}

int clv_vm_host_open(const char *uris, struct clv_vm_host **ret, struct clv_error *err)
{
	struct clv_vm_host *host = calloc(1, sizeof(*host));
	_cleanup_free_ char *copy = strdup(uris);
	char *rest = copy, *uri;

	if (!host || !copy) {
		free(host);
		return clv_error_errno(err, ENOMEM, "cannot connect to libvirt");
	}
	virSetErrorFunc(NULL, ignore_error);
	if (!clv_vm_loop_start()) {
		free(host);
		return clv_error_set(err, -EAGAIN,
			"cannot start the thread that waits for libvirt: end other "
			"programs, or raise the limit of threads");
	}
	while ((uri = strsep(&rest, ","))) {
		if (uri[0])
			connect_to(host, uri);
	}
	if (host->n_links > 0) {
		*ret = host;
		return 0;
	}
	clv_error_set(err, -ECONNREFUSED, "%s",
		host->n_problems > 0 ? host->problems[0]
				     : "no URI of a libvirt is given");
	clv_vm_host_free(host);
	return -ECONNREFUSED;
}

struct clv_vm_host *clv_vm_host_free(struct clv_vm_host *host)
{
	if (!host)
		return NULL;
	for (size_t i = 0; i < host->n_links; i++) {
		virConnectClose(host->links[i].connection);
		free(host->links[i].uri);
		free(host->links[i].name);
	}
	free(host->links);
	free(host->problems);
	free(host);
	return NULL;
}

virDomain *clv_vm_look_up(const struct clv_vm_host *host,
	const struct clv_vm_guest *guest, struct clv_error *err)
{
	virDomain *domain = NULL;

	virResetLastError();
	for (size_t i = 0; i < host->n_links && !domain; i++) {
		if (strcmp(host->links[i].uri, guest->uri) == 0)
			domain = virDomainLookupByUUIDString(
				host->links[i].connection, guest->config.uuid);
	}
	if (!domain)
		clv_vm_fail(err, "the virtual machine %.100s cannot be found again",
			guest->config.name);
	return domain;
}

/* --- The list --- */

static const char *state_to_string(int state)
{
	static const char *const names[] = {
		[VIR_DOMAIN_NOSTATE] = "unknown",
		[VIR_DOMAIN_RUNNING] = "running",
		[VIR_DOMAIN_BLOCKED] = "running",
		[VIR_DOMAIN_PAUSED] = "paused",
		[VIR_DOMAIN_SHUTDOWN] = "stopping",
		[VIR_DOMAIN_SHUTOFF] = "off",
		[VIR_DOMAIN_CRASHED] = "crashed",
		[VIR_DOMAIN_PMSUSPENDED] = "suspended",
	};

	return state >= 0 && (size_t)state < CLV_ARRAY_SIZE(names) ? names[state]
								   : "unknown";
}

static int read_xml(virDomain *domain, unsigned int flags, struct clv_vm_domain *ret,
	struct clv_error *err)
{
	_cleanup_free_ char *xml = virDomainGetXMLDesc(domain, flags);
	int r;

	if (!xml)
		return clv_vm_fail(err, "the XML of the virtual machine %.100s",
			virDomainGetName(domain));
	r = clv_vm_domain_parse(xml, strlen(xml), ret, err);
	if (r < 0)
		clv_error_prefix(err, "the XML of the virtual machine %.100s",
			virDomainGetName(domain));
	return r;
}

static int read_guest(virDomain *domain, struct clv_vm_guest *ret, struct clv_error *err)
{
	int state = VIR_DOMAIN_SHUTOFF, reason, r = 0;

	ret->is_running = virDomainGetID(domain) != (unsigned int)-1;
	if (ret->is_running && virDomainGetState(domain, &state, &reason, 0) < 0)
		state = VIR_DOMAIN_NOSTATE;
	snprintf(ret->state, sizeof(ret->state), "%s", state_to_string(state));
	r = read_xml(domain, ret->is_persistent ? VIR_DOMAIN_XML_INACTIVE : 0,
		&ret->config, err);
	if (r >= 0 && ret->is_running)
		r = read_xml(domain, 0, &ret->live, err);
	return r;
}

int clv_vm_host_reread(
	const struct clv_vm_host *host, struct clv_vm_guest *guest, struct clv_error *err)
{
	virDomain *domain = clv_vm_look_up(host, guest, err);
	struct clv_vm_guest now = {.uri = guest->uri,
		.host = guest->host,
		.is_persistent = guest->is_persistent};
	int r = domain ? read_guest(domain, &now, err) : err->code;

	if (domain)
		virDomainFree(domain);
	clv_vm_guest_clear(r < 0 ? &now : guest);
	if (r >= 0)
		*guest = now;
	return r;
}

/* The link with the domain; NULL: see err.  The caller frees the domain. */
static const struct clv_vm_link *find_domain(const struct clv_vm_host *host,
	const char *uri, const char *uuid, virDomain **ret, struct clv_error *err)
{
	for (size_t i = 0; i < host->n_links; i++) {
		const struct clv_vm_link *link = &host->links[i];

		if (strcmp(link->uri, uri) != 0)
			continue;
		*ret = virDomainLookupByUUIDString(link->connection, uuid);
		if (*ret)
			return link;
		clv_vm_fail(err, "the virtual machine %.40s cannot be found", uuid);
		return NULL;
	}
	clv_error_set(err, -ENOENT, "there is no connection to %.100s", uri);
	return NULL;
}

int clv_vm_host_read(const struct clv_vm_host *host, const char *uri, const char *uuid,
	struct clv_vm_guest *ret, struct clv_error *err)
{
	virDomain *domain;
	const struct clv_vm_link *link = find_domain(host, uri, uuid, &domain, err);
	int r;

	*ret = (struct clv_vm_guest){0};
	if (!link)
		return err->code;
	ret->uri = link->uri;
	ret->host = link->name;
	ret->is_persistent = virDomainIsPersistent(domain) == 1;
	r = read_guest(domain, ret, err);
	virDomainFree(domain);
	if (r < 0)
		clv_vm_guest_clear(ret);
	return r;
}

static int add_domain(struct clv_vm_host *host, const struct clv_vm_link *link,
	virDomain *domain, bool is_persistent, struct clv_vm_guests *guests)
{
	struct clv_vm_guest guest = {
		.uri = link->uri, .host = link->name, .is_persistent = is_persistent};
	struct clv_error why = {0};
	struct clv_vm_guest *slot;
	int r = read_guest(domain, &guest, &why);

	if (r < 0) {
		clv_vm_guest_clear(&guest);
		/* It was undefined, or ended, since it was listed. */
		if (r != -ENOENT)
			add_problem(host, &why);
		return 0;
	}
	slot = CLV_APPEND(guests->items, guests->n);
	if (!slot) {
		clv_vm_guest_clear(&guest);
		return -ENOMEM;
	}
	*slot = guest;
	return 0;
}

static int list_of(struct clv_vm_host *host, const struct clv_vm_link *link,
	bool is_persistent, struct clv_vm_guests *guests)
{
	virDomain **domains = NULL;
	int r = 0, n = virConnectListAllDomains(link->connection, &domains,
			   is_persistent ? VIR_CONNECT_LIST_DOMAINS_PERSISTENT
					 : VIR_CONNECT_LIST_DOMAINS_TRANSIENT);

	if (n < 0) {
		struct clv_error why;

		clv_vm_fail(&why, "the virtual machines of %.100s", link->uri);
		add_problem(host, &why);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_domain(host, link, domains[i], is_persistent, guests);
		virDomainFree(domains[i]);
	}
	free(domains);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct clv_vm_guest *first = a, *second = b;

	return strcmp(first->config.name, second->config.name);
}

int clv_vm_host_list(
	struct clv_vm_host *host, struct clv_vm_guests *ret, struct clv_error *err)
{
	int r = 0;

	*ret = (struct clv_vm_guests){0};
	for (size_t i = 0; i < host->n_links && r == 0; i++) {
		r = list_of(host, &host->links[i], true, ret);
		if (r == 0)
			r = list_of(host, &host->links[i], false, ret);
	}
	if (r < 0)
		return clv_error_errno(err, -r, "cannot list virtual machines");
	if (ret->n > 0)
		qsort(ret->items, ret->n, sizeof(*ret->items), by_name);
	ret->is_complete = !host->is_cut_off;
	return 0;
}

size_t clv_vm_host_count(const struct clv_vm_host *host)
{
	return host->n_links;
}

const char *clv_vm_host_uri(const struct clv_vm_host *host)
{
	return host->links[0].uri;
}

const char *clv_vm_host_name(const struct clv_vm_host *host)
{
	return host->links[0].name;
}

int clv_vm_host_list_of(struct clv_vm_host *host, const char *uri,
	struct clv_vm_guests *ret, struct clv_error *err)
{
	size_t n_problems = host->n_problems;
	int r = 0;

	*ret = (struct clv_vm_guests){0};
	for (size_t i = 0; i < host->n_links && r == 0; i++) {
		const struct clv_vm_link *link = &host->links[i];

		if (strcmp(link->uri, uri) != 0)
			continue;
		r = list_of(host, link, true, ret);
		if (r == 0)
			r = list_of(host, link, false, ret);
	}
	if (r < 0)
		return clv_error_errno(err, -r, "cannot list virtual machines");
	ret->is_complete = host->n_problems == n_problems;
	return 0;
}

void clv_vm_guests_clear(struct clv_vm_guests *guests)
{
	for (size_t i = 0; i < guests->n; i++)
		clv_vm_guest_clear(&guests->items[i]);
	free(guests->items);
	*guests = (struct clv_vm_guests){0};
}

bool clv_vm_host_is_local(const struct clv_vm_guest *guest)
{
	char own[256] = "";

	gethostname(own, sizeof(own) - 1);
	/* libvirt may give the name with its domain. */
	return !guest->host || strncmp(own, guest->host, strcspn(own, ".")) == 0;
}
