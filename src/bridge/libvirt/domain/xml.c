/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/libvirt/domain/xml.h"

#include "base/error.h"

#include <errno.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>

int clv_xml_parse(const char *xml, size_t n_bytes, xmlDoc **ret, struct clv_error *err)
{
	const xmlError *problem;

	if (n_bytes > CLV_XML_MAX)
		return clv_error_set(err, -EBADMSG,
			"the XML is over %zu MiB: no domain needs so much",
			CLV_XML_MAX >> 20);
	xmlResetLastError();
	*ret = xmlReadMemory(xml, (int)n_bytes, NULL, NULL,
		XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
			XML_PARSE_NOBLANKS);
	if (*ret)
		return 0;
	problem = xmlGetLastError();
	if (problem && problem->code == XML_ERR_NO_MEMORY)
		return clv_error_errno(err, ENOMEM, "cannot parse XML");
	if (!problem || !problem->message)
		return clv_error_set(err, -EBADMSG, "the text is empty and no XML");
	return clv_error_set(err, -EBADMSG, "line %d is no XML: %.*s", problem->line,
		(int)strcspn(problem->message, "\n"), problem->message);
}

void clv_xml_free_text(char **text)
{
	if (*text)
		xmlFree(*text);
}

bool clv_xml_is_named(const xmlNode *node, const char *name)
{
	return node && node->type == XML_ELEMENT_NODE &&
	       strcmp((const char *)node->name, name) == 0;
}

static const xmlNode *find_from(const xmlNode *node, const char *name)
{
	while (node && !clv_xml_is_named(node, name))
		node = node->next;
	return node;
}

const xmlNode *clv_xml_child(const xmlNode *node, const char *name)
{
	return node ? find_from(node->children, name) : NULL;
}

const xmlNode *clv_xml_next(const xmlNode *node, const char *name)
{
	return node ? find_from(node->next, name) : NULL;
}

char *clv_xml_attribute(const xmlNode *node, const char *name)
{
	return node ? (char *)xmlGetNoNsProp(node, (const xmlChar *)name) : NULL;
}

char *clv_xml_content(const xmlNode *node)
{
	return node ? (char *)xmlNodeGetContent(node) : NULL;
}

bool clv_xml_is(const xmlNode *node, const char *name, const char *value)
{
	_cleanup_xml_text_ char *text = clv_xml_attribute(node, name);

	return text && strcmp(text, value) == 0;
}

void clv_xml_copy(const xmlNode *node, const char *name, char *ret, size_t ret_bytes)
{
	_cleanup_xml_text_ char *text = clv_xml_attribute(node, name);

	snprintf(ret, ret_bytes, "%s", text && strlen(text) < ret_bytes ? text : "");
}

const xmlNode *clv_xml_pci_root(const xmlNode *devices)
{
	const xmlNode *node = clv_xml_child(devices, "controller");

	for (; node; node = clv_xml_next(node, "controller")) {
		if (clv_xml_is(node, "type", "pci") &&
			(clv_xml_is(node, "model", "pcie-root") ||
				clv_xml_is(node, "model", "pci-root")))
			return node;
	}
	return NULL;
}
