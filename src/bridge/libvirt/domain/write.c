/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what cleave puts into a domain: functions, metadata, the 64-bit window. */
#include "base/error.h"
#include "bridge/libvirt/domain/domain.h"
#include "bridge/libvirt/domain/xml.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_lease(const char *lease)
{
	size_t n = strlen(lease);

	if (n == 0 || n >= CLV_VM_LEASE_MAX)
		return false;
	for (const char *c = lease; *c; c++) {
		if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c))
			return false;
	}
	return true;
}

/* Whether each character is a hexadecimal digit where the form has an x, and else that of
 * the form. */
static bool has_form(const char *text, const char *form)
{
	for (; *form && *text; form++, text++) {
		if (*form == 'x' ? !isxdigit((unsigned char)*text) : *text != *form)
			return false;
	}
	return *form == *text;
}

static int write_mdev(const char *address, const char *lease, char *ret)
{
	if (!has_form(address, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"))
		return -EINVAL;
	snprintf(ret, CLV_VM_HOSTDEV_MAX,
		"<hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>"
		"<source><address uuid='%s'/></source>"
		"<alias name='" CLV_VM_ALIAS_PREFIX "%s'/></hostdev>",
		address, lease);
	return 0;
}

/* managed='no' leaves the function with its driver: NVIDIA's registers functions with
 * VFIO itself, and does not do so again after it was unbound. */
static int write_pci(const char *address, bool is_managed, const char *lease, char *ret)
{
	unsigned int domain, bus, slot, function;

	if (!has_form(address, "xxxx:xx:xx.x") ||
		sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	snprintf(ret, CLV_VM_HOSTDEV_MAX,
		"<hostdev mode='subsystem' type='pci' managed='%s'>"
		"<driver name='vfio'/><source><address domain='0x%04x' bus='0x%02x' "
		"slot='0x%02x' function='0x%x'/></source>"
		"<alias name='" CLV_VM_ALIAS_PREFIX "%s'/></hostdev>",
		is_managed ? "yes" : "no", domain, bus, slot, function, lease);
	return 0;
}

int clv_vm_hostdev_write(enum clv_vm_means means, const char *address, const char *lease,
	char ret[CLV_VM_HOSTDEV_MAX], struct clv_error *err)
{
	int r = is_lease(lease) ? 0 : -EINVAL;

	if (r == 0 && means == CLV_VM_MDEV)
		r = write_mdev(address, lease, ret);
	else if (r == 0)
		r = write_pci(address, means == CLV_VM_PCI, lease, ret);
	if (r < 0)
		return clv_error_set(err, r,
			"the partition at '%.40s' cannot be given to a virtual machine: "
			"it has no address of a PCI function and no UUID of an mdev",
			address);
	return 0;
}

char *clv_vm_metadata_write(
	const struct clv_vm_note *notes, size_t n_notes, bool shuts_down)
{
	xmlDoc *doc = xmlNewDoc(NULL);
	xmlNode *root = xmlNewNode(NULL, (const xmlChar *)"vm");
	xmlBuffer *buffer = xmlBufferCreate();
	char *text = NULL;

	if (doc && root && buffer) {
		xmlDocSetRootElement(doc, root);
		xmlNewProp(root, (const xmlChar *)"offline-action",
			(const xmlChar *)(shuts_down ? "shutdown" : "none"));
		for (size_t i = 0; i < n_notes; i++) {
			xmlNode *node = xmlNewChild(
				root, NULL, (const xmlChar *)"partition", NULL);

			xmlNewProp(node, (const xmlChar *)"lease",
				(const xmlChar *)notes[i].lease);
			xmlNewProp(node, (const xmlChar *)"name",
				(const xmlChar *)notes[i].partition);
		}
		if (xmlNodeDump(buffer, doc, root, 0, 0) > 0)
			text = strdup((const char *)xmlBufferContent(buffer));
	} else {
		xmlFreeNode(root);
	}
	xmlBufferFree(buffer);
	xmlFreeDoc(doc);
	return text;
}

static int dump(xmlDoc *doc, char **ret, struct clv_error *err)
{
	xmlChar *text = NULL;
	int n;

	xmlDocDumpMemory(doc, &text, &n);
	*ret = text ? strdup((const char *)text) : NULL;
	xmlFree(text);
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot write XML");
}

static xmlNode *find_hostdev(const xmlDoc *doc, const char *lease)
{
	const xmlNode *devices = clv_xml_child(xmlDocGetRootElement(doc), "devices");
	const xmlNode *node = clv_xml_child(devices, "hostdev");
	char alias[CLV_VM_ALIAS_MAX];

	snprintf(alias, sizeof(alias), CLV_VM_ALIAS_PREFIX "%s", lease);
	while (node && !clv_xml_is(clv_xml_child(node, "alias"), "name", alias))
		node = clv_xml_next(node, "hostdev");
	return (xmlNode *)node;
}

/* Puts a copy of the child of that name in the place of the node's own. */
static void replace_child(xmlNode *node, const xmlNode *from, const char *name)
{
	xmlNode *old = (xmlNode *)clv_xml_child(node, name);
	xmlNode *copy =
		xmlDocCopyNode((xmlNode *)clv_xml_child(from, name), node->doc, 1);

	if (!old || !copy) {
		xmlFreeNode(copy);
		return;
	}
	xmlReplaceNode(old, copy);
	xmlFreeNode(old);
}

static int exchange(
	xmlDoc *doc, const struct clv_vm_exchange *exchange, struct clv_error *err)
{
	_cleanup_xml_doc_ xmlDoc *other = NULL;
	char xml[CLV_VM_HOSTDEV_MAX];
	xmlNode *node = find_hostdev(doc, exchange->lease), *from;
	int r = clv_vm_hostdev_write(
		exchange->means, exchange->to_address, exchange->to_lease, xml, err);

	if (r >= 0)
		r = clv_xml_parse(xml, strlen(xml), &other, err);
	if (r < 0)
		return r;
	from = xmlDocGetRootElement(other);
	if (!node || !clv_xml_child(node, "source"))
		return clv_error_set(err, -ENOENT,
			"the virtual machine has no function for its lease %.24s: "
			"cleave vms --repair puts it back",
			exchange->lease);
	xmlSetProp(node, (const xmlChar *)"managed",
		(const xmlChar *)(exchange->means == CLV_VM_PCI ? "yes" : "no"));
	replace_child(node, from, "source");
	replace_child(node, from, "alias");
	return 0;
}

int clv_vm_domain_exchange(const char *xml, size_t n_bytes,
	const struct clv_vm_exchange *exchanges, size_t n, char **ret,
	struct clv_error *err)
{
	_cleanup_xml_doc_ xmlDoc *doc = NULL;
	int r = clv_xml_parse(xml, n_bytes, &doc, err);

	for (size_t i = 0; i < n && r >= 0; i++)
		r = exchange(doc, &exchanges[i], err);
	return r < 0 ? r : dump(doc, ret, err);
}

static void set_hole(xmlNode *controller, uint64_t hole_bytes)
{
	xmlNode *hole = (xmlNode *)clv_xml_child(controller, "pcihole64");
	char text[32];

	if (hole) {
		xmlUnlinkNode(hole);
		xmlFreeNode(hole);
	}
	if (hole_bytes == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, (hole_bytes + 1023) >> 10);
	hole = xmlNewChild(
		controller, NULL, (const xmlChar *)"pcihole64", (const xmlChar *)text);
	xmlNewProp(hole, (const xmlChar *)"unit", (const xmlChar *)"KiB");
}

int clv_vm_domain_set_hole(const char *xml, size_t n_bytes, uint64_t hole_bytes,
	char **ret, struct clv_error *err)
{
	_cleanup_xml_doc_ xmlDoc *doc = NULL;
	const xmlNode *controller;
	int r = clv_xml_parse(xml, n_bytes, &doc, err);

	if (r < 0)
		return r;
	controller =
		clv_xml_pci_root(clv_xml_child(xmlDocGetRootElement(doc), "devices"));
	if (!controller)
		return clv_error_set(err, -ENOTSUP,
			"the virtual machine has no PCI root, so its 64-bit window "
			"cannot be set: use the machine type q35 or pc");
	set_hole((xmlNode *)controller, hole_bytes);
	return dump(doc, ret, err);
}
