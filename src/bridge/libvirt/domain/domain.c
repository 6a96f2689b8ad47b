/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a domain's XML with libxml2.  Elements and attributes that are missing or have
 * another form are left out: libvirt has checked what it gave. */
#include "bridge/libvirt/domain/domain.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "bridge/libvirt/domain/xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t read_hex(const xmlNode *node, const char *name, uint32_t most)
{
	_cleanup_xml_text_ char *text = clv_xml_attribute(node, name);
	char *end;
	unsigned long value = text ? strtoul(text, &end, 0) : 0;

	if (text && (end == text || *end != '\0' || value > most))
		return UINT32_MAX;
	return (uint32_t)value;
}

static void read_pci_address(const xmlNode *address, struct clv_vm_hostdev *hostdev)
{
	uint32_t domain = read_hex(address, "domain", 0xffff);
	uint32_t bus = read_hex(address, "bus", 0xff);
	uint32_t slot = read_hex(address, "slot", 0x1f);
	uint32_t function = read_hex(address, "function", 7);

	if (domain == UINT32_MAX || bus == UINT32_MAX || slot == UINT32_MAX ||
		function == UINT32_MAX)
		return;
	snprintf(hostdev->address, sizeof(hostdev->address), "%04x:%02x:%02x.%x", domain,
		bus, slot, function);
}

static int read_hostdev(const xmlNode *node, struct clv_vm_domain *domain)
{
	const xmlNode *address = clv_xml_child(clv_xml_child(node, "source"), "address");
	const xmlNode *alias = clv_xml_child(node, "alias");
	struct clv_vm_hostdev *hostdev;
	bool is_mdev = clv_xml_is(node, "type", "mdev");

	if (!is_mdev && !clv_xml_is(node, "type", "pci"))
		return 0;
	hostdev = CLV_APPEND(domain->hostdevs, domain->n_hostdevs);
	if (!hostdev)
		return -ENOMEM;
	hostdev->is_mdev = is_mdev;
	hostdev->is_managed = clv_xml_is(node, "managed", "yes");
	if (is_mdev)
		clv_xml_copy(address, "uuid", hostdev->address, sizeof(hostdev->address));
	else
		read_pci_address(address, hostdev);
	clv_xml_copy(alias, "name", hostdev->alias, sizeof(hostdev->alias));
	return 0;
}

static int read_hostdevs(const xmlNode *devices, struct clv_vm_domain *domain)
{
	const xmlNode *node = clv_xml_child(devices, "hostdev");
	int r = 0;

	for (; node && r == 0; node = clv_xml_next(node, "hostdev"))
		r = read_hostdev(node, domain);
	return r;
}

static void read_hole(const xmlNode *devices, struct clv_vm_domain *domain)
{
	const xmlNode *hole = clv_xml_child(clv_xml_pci_root(devices), "pcihole64");
	_cleanup_xml_text_ char *text = clv_xml_content(hole);

	/* libvirt writes KiB. */
	domain->has_memory_hole = text != NULL;
	domain->memory_hole_bytes = text ? strtoull(text, NULL, 10) << 10 : 0;
}

static const xmlNode *find_metadata(const xmlNode *root)
{
	const xmlNode *metadata = clv_xml_child(root, "metadata");
	const xmlNode *node = metadata ? metadata->children : NULL;

	for (; node; node = node->next) {
		if (node->type == XML_ELEMENT_NODE && node->ns && node->ns->href &&
			strcmp((const char *)node->ns->href, CLV_VM_METADATA_URI) == 0)
			return node;
	}
	return NULL;
}

static int read_metadata(const xmlNode *root, struct clv_vm_domain *domain)
{
	const xmlNode *ours = find_metadata(root);
	const xmlNode *node = clv_xml_child(ours, "partition");

	domain->shuts_down = clv_xml_is(ours, "offline-action", "shutdown");
	for (; node; node = clv_xml_next(node, "partition")) {
		struct clv_vm_note *note = CLV_APPEND(domain->notes, domain->n_notes);

		if (!note)
			return -ENOMEM;
		clv_xml_copy(node, "lease", note->lease, sizeof(note->lease));
		clv_xml_copy(node, "name", note->partition, sizeof(note->partition));
	}
	return 0;
}

static int read_identity(
	const xmlNode *root, struct clv_vm_domain *domain, struct clv_error *err)
{
	_cleanup_xml_text_ char *uuid = clv_xml_content(clv_xml_child(root, "uuid"));
	_cleanup_xml_text_ char *name = clv_xml_content(clv_xml_child(root, "name"));

	if (!clv_xml_is_named(root, "domain") || !uuid || !name ||
		strlen(uuid) != CLV_VM_UUID_MAX - 1)
		return clv_error_set(err, -EBADMSG,
			"this is no XML of a domain: it has no name and UUID");
	memcpy(domain->uuid, uuid, CLV_VM_UUID_MAX);
	domain->name = strdup(name);
	if (!domain->name)
		return clv_error_errno(err, ENOMEM, "cannot read a domain");
	clv_text_make_printable(domain->name);
	return 0;
}

static int read_domain(
	const xmlNode *root, struct clv_vm_domain *domain, struct clv_error *err)
{
	const xmlNode *devices = clv_xml_child(root, "devices");
	int r = read_identity(root, domain, err);

	if (r < 0)
		return r;
	clv_xml_copy(clv_xml_child(clv_xml_child(root, "os"), "type"), "machine",
		domain->machine, sizeof(domain->machine));
	read_hole(devices, domain);
	if (read_hostdevs(devices, domain) < 0 || read_metadata(root, domain) < 0)
		return clv_error_errno(err, ENOMEM, "cannot read a domain");
	return 0;
}

int clv_vm_domain_parse(
	const char *xml, size_t n_bytes, struct clv_vm_domain *ret, struct clv_error *err)
{
	_cleanup_xml_doc_ xmlDoc *doc = NULL;
	int r = clv_xml_parse(xml, n_bytes, &doc, err);

	*ret = (struct clv_vm_domain){0};
	if (r < 0)
		return r;
	return read_domain(xmlDocGetRootElement(doc), ret, err);
}

void clv_vm_domain_clear(struct clv_vm_domain *domain)
{
	free(domain->name);
	free(domain->hostdevs);
	free(domain->notes);
	*domain = (struct clv_vm_domain){0};
}

const char *clv_vm_lease_of_alias(const char *alias)
{
	static const char prefix[] = CLV_VM_ALIAS_PREFIX;
	size_t n = sizeof(prefix) - 1;

	return strncmp(alias, prefix, n) == 0 && alias[n] ? alias + n : NULL;
}

const struct clv_vm_hostdev *clv_vm_find_lease(
	const struct clv_vm_domain *domain, const char *lease)
{
	for (size_t i = 0; i < domain->n_hostdevs; i++) {
		const char *id = clv_vm_lease_of_alias(domain->hostdevs[i].alias);

		if (id && strcmp(id, lease) == 0)
			return &domain->hostdevs[i];
	}
	return NULL;
}

const struct clv_vm_hostdev *clv_vm_find_address(
	const struct clv_vm_domain *domain, const char *address)
{
	for (size_t i = 0; i < domain->n_hostdevs; i++) {
		if (strcmp(domain->hostdevs[i].address, address) == 0)
			return &domain->hostdevs[i];
	}
	return NULL;
}

size_t clv_vm_count_partitions(const struct clv_vm_domain *domain)
{
	size_t n = 0;

	for (size_t i = 0; i < domain->n_hostdevs; i++)
		n += clv_vm_lease_of_alias(domain->hostdevs[i].alias) != NULL;
	return n;
}
