/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a domain has besides its definition, which a move has to leave or find. */
#include "base/text.h"
#include "bridge/libvirt/domain/domain.h"
#include "bridge/libvirt/domain/xml.h"

#include <stdio.h>

/* Where a source is: attributes of which it has one. */
static const char *const places[] = {"file", "dev", "dir", "volume", "name"};

static void read_source(const xmlNode *source, char *ret, size_t ret_bytes)
{
	ret[0] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(places) && ret[0] == '\0'; i++)
		clv_xml_copy(source, places[i], ret, ret_bytes);
	clv_text_make_printable(ret);
}

static void read_disks(
	const xmlNode *devices, const char *element, struct clv_vm_belongings *ret)
{
	const xmlNode *disk = clv_xml_child(devices, element);
	char source[256];

	for (; disk; disk = clv_xml_next(disk, element)) {
		read_source(clv_xml_child(disk, "source"), source, sizeof(source));
		if (source[0])
			clv_text_list(ret->disks, sizeof(ret->disks), source);
	}
}

/* A network function of the host is an interface. */
static size_t count_hostdevs(const xmlNode *devices)
{
	const xmlNode *node = clv_xml_child(devices, "hostdev");
	size_t n = 0;

	for (; node; node = clv_xml_next(node, "hostdev"))
		n++;
	node = clv_xml_child(devices, "interface");
	for (; node; node = clv_xml_next(node, "interface"))
		n += clv_xml_is(node, "type", "hostdev");
	return n;
}

/* The file is the content of nvram or, in newer definitions, that of its source. */
static void read_firmware(const xmlNode *os, struct clv_vm_belongings *ret)
{
	const xmlNode *loader = clv_xml_child(os, "loader");
	const xmlNode *nvram = clv_xml_child(os, "nvram");
	const xmlNode *source = clv_xml_child(nvram, "source");
	_cleanup_xml_text_ char *text = clv_xml_content(nvram);

	if (clv_xml_is(loader, "stateless", "yes"))
		return;
	ret->has_variables = nvram || clv_xml_is(loader, "type", "pflash") ||
			     clv_xml_is(os, "firmware", "efi");
	if (source)
		read_source(source, ret->variables, sizeof(ret->variables));
	else if (text)
		snprintf(ret->variables, sizeof(ret->variables), "%s", text);
	clv_text_make_printable(ret->variables);
}

int clv_vm_domain_belongings(const char *xml, size_t n_bytes,
	struct clv_vm_belongings *ret, struct clv_error *err)
{
	_cleanup_xml_doc_ xmlDoc *doc = NULL;
	const xmlNode *domain, *devices;
	int r = clv_xml_parse(xml, n_bytes, &doc, err);

	*ret = (struct clv_vm_belongings){0};
	if (r < 0)
		return r;
	domain = xmlDocGetRootElement(doc);
	devices = clv_xml_child(domain, "devices");
	ret->has_tpm = clv_xml_child(devices, "tpm");
	read_disks(devices, "disk", ret);
	read_disks(devices, "filesystem", ret);
	ret->n_hostdevs = count_hostdevs(devices);
	read_firmware(clv_xml_child(domain, "os"), ret);
	return 0;
}
