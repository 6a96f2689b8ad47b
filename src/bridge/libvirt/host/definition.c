/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of a domain, which moves to another host. */
#include "bridge/libvirt/host/change.h"

#include "base/error.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>

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

int clv_vm_define(const struct clv_vm_host *host, const char *xml, struct clv_error *err)
{
	virDomain *domain = virDomainDefineXML(host->links[0].connection, xml);

	if (!domain)
		return clv_vm_fail(
			err, "libvirt at %.100s does not define it", host->links[0].uri);
	virDomainFree(domain);
	return 0;
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
	if (virDomainUndefineFlags(domain, VIR_DOMAIN_UNDEFINE_KEEP_NVRAM) < 0)
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

int clv_vm_check_movable(const struct clv_vm_host *host, const struct clv_vm_guest *guest,
	struct clv_error *err)
{
	_cleanup_vir_domain_ virDomain *domain = clv_vm_look_up(host, guest, err);

	if (!domain)
		return err->code;
	if (virDomainHasManagedSaveImage(domain, 0) == 1)
		return clv_error_set(err, -EBUSY,
			"%.100s has its memory saved on this host: start it, or virsh "
			"managedsave-remove",
			guest->config.name);
	if (virDomainSnapshotNum(domain, 0) > 0)
		return clv_error_set(err, -EBUSY,
			"%.100s has snapshots, which libvirt keeps on this host: virsh "
			"snapshot-delete",
			guest->config.name);
	return 0;
}
