/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of domains by libvirt's calls.  A live detach ends when the guest has released
 * the function, which libvirt reports by an event. */
#include "bridge/libvirt/host/change.h"

#include "base/error.h"
#include "bridge/libvirt/domain/mmio.h"
#include "bridge/libvirt/host/host-internal.h"
#include "bridge/libvirt/host/wait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define _cleanup_vir_domain_ CLV_CLEANUP(free_domain)

static void free_domain(virDomain **domain)
{
	if (*domain)
		virDomainFree(*domain);
}

int clv_vm_attach(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *hostdev_xml, bool live, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	unsigned int flags = VIR_DOMAIN_AFFECT_CONFIG;

	if (!domain)
		return err->code;
	if (live)
		flags |= VIR_DOMAIN_AFFECT_LIVE;
	if (virDomainAttachDeviceFlags(domain, hostdev_xml, flags) < 0)
		return clv_vm_fail(
			err, "libvirt does not attach it to %.100s", guest->config.name);
	return 0;
}

int clv_vm_detach(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *alias, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	if (virDomainDetachDeviceAlias(domain, alias, VIR_DOMAIN_AFFECT_CONFIG) < 0)
		return clv_vm_fail(err, "libvirt does not detach it from %.100s",
			guest->config.name);
	return 0;
}

static int fail_lost(const struct clv_vm_guest *guest, struct clv_error *err)
{
	return clv_error_set(err, -ECONNREFUSED,
		"libvirt at %.100s went away while %.100s was changed: start libvirtd, "
		"and see cleave vms",
		guest->uri, guest->config.name);
}

int clv_vm_detach_live(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const char *alias, int timeout_ms, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	_cleanup_wait_ struct clv_vm_wait *wait = NULL;
	int r;

	if (!domain)
		return err->code;
	wait = clv_vm_wait_begin(domain, alias, err);
	if (!wait)
		return err->code;
	if (virDomainDetachDeviceAlias(domain, alias, VIR_DOMAIN_AFFECT_LIVE) < 0)
		return clv_vm_fail(err, "libvirt does not detach it from %.100s",
			guest->config.name);
	r = clv_vm_wait_for(wait, timeout_ms, -1);
	if (r == -ETIMEDOUT)
		clv_error_set(err, r, "%.100s does not release its partition",
			guest->config.name);
	else if (r < 0)
		fail_lost(guest, err);
	return r;
}

int clv_vm_set_metadata(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const struct clv_vm_note *notes, size_t n_notes, bool shuts_down,
	struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	_cleanup_free_ char *xml = clv_vm_metadata_write(notes, n_notes, shuts_down);
	unsigned int flags = guest->is_persistent ? VIR_DOMAIN_AFFECT_CONFIG : 0;

	if (!domain)
		return err->code;
	if (!xml)
		return clv_error_errno(err, ENOMEM, "cannot write metadata");
	if (virDomainIsActive(domain) == 1)
		flags |= VIR_DOMAIN_AFFECT_LIVE;
	/* Without partitions the element is removed. */
	if (virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT,
		    n_notes > 0 ? xml : NULL, CLV_VM_METADATA_KEY, CLV_VM_METADATA_URI,
		    flags) < 0 &&
		n_notes > 0)
		return clv_vm_fail(err, "libvirt does not keep metadata of %.100s",
			guest->config.name);
	return 0;
}

int clv_vm_set_window(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	uint64_t bytes, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	_cleanup_free_ char *before = NULL, *after = NULL;
	virDomain *defined;
	int r;

	if (!domain)
		return err->code;
	before = virDomainGetXMLDesc(
		domain, VIR_DOMAIN_XML_INACTIVE | VIR_DOMAIN_XML_SECURE);
	if (!before)
		return clv_vm_fail(err, "the XML of %.100s", guest->config.name);
	r = clv_vm_domain_set_hole(before, strlen(before), bytes, &after, err);
	if (r < 0)
		return r;
	defined = virDomainDefineXML(virDomainGetConnect(domain), after);
	if (!defined)
		return clv_vm_fail(err, "the 64-bit window of %.100s cannot be set",
			guest->config.name);
	virDomainFree(defined);
	return 0;
}

static int turn_off(
	virDomain *domain, const struct clv_vm_guest *guest, struct clv_error *err)
{
	if (virDomainDestroy(domain) == 0 || virDomainIsActive(domain) == 0)
		return 0;
	return clv_vm_fail(err, "%.100s cannot be turned off", guest->config.name);
}

/* It may shut down by itself between two calls. */
static int shut_down(virDomain *domain, const struct clv_vm_guest *guest,
	struct clv_vm_wait *wait, const struct clv_vm_stop_options *stop,
	struct clv_error *err)
{
	if (virDomainShutdown(domain) < 0) {
		clv_vm_fail(err, "%.100s cannot be shut down", guest->config.name);
		return virDomainIsActive(domain) == 0 ? 0 : err->code;
	}
	return clv_vm_wait_for(wait, stop->timeout_ms, stop->interrupt_fd);
}

int clv_vm_stop(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	const struct clv_vm_stop_options *stop, struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);
	_cleanup_wait_ struct clv_vm_wait *wait = NULL;
	int r;

	if (!domain)
		return err->code;
	wait = clv_vm_wait_begin(domain, NULL, err);
	if (!wait)
		return err->code;
	r = shut_down(domain, guest, wait, stop, err);
	if (r == -EINTR)
		return clv_error_set(err, r, "interrupted while %.100s shuts down",
			guest->config.name);
	if (r < 0 && stop->force)
		return turn_off(domain, guest, err);
	if (r == -ECONNREFUSED)
		return fail_lost(guest, err);
	if (r == -ETIMEDOUT)
		return clv_error_set(err, r,
			"%.100s does not shut down in %d s: shut it down inside, give a "
			"longer --timeout, or add --force to turn it off",
			guest->config.name, stop->timeout_ms / 1000);
	return r;
}

int clv_vm_start(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	if (virDomainCreate(domain) < 0 && virDomainIsActive(domain) != 1)
		return clv_vm_fail(err, "%.100s does not start", guest->config.name);
	return 0;
}

#define BARS_MAX 8

/* The sizes of the BARs of one function, added to ret. */
static size_t add_bars(const char *address, uint64_t *ret, size_t max)
{
	char path[80], text[2048];
	size_t n_bytes;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", address);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n_bytes = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n_bytes] = '\0';
	return clv_vm_mmio_read_bars(text, ret, max);
}

uint64_t clv_vm_window_of(const char *const *addresses, size_t n)
{
	_cleanup_free_ uint64_t *bars = calloc(n + 1, BARS_MAX * sizeof(*bars));
	size_t n_bars = 0;

	for (size_t i = 0; bars && i < n; i++)
		n_bars += add_bars(addresses[i], bars + n_bars, BARS_MAX);
	return bars ? clv_vm_mmio_needed(bars, n_bars) : 0;
}
