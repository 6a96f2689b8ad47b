/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* What the readers and writers of a domain's XML need of libxml2.  Each function accepts
 * NULL for a node, and finds nothing there. */

#define CLV_XML_MAX ((size_t)4 << 20)

/* Loads nothing from files or the network.  -EBADMSG, -ENOMEM. */
int clv_xml_parse(const char *xml, size_t n_bytes, xmlDoc **ret, struct clv_error *err);
CLV_DEFINE_CLEANUP(xmlDoc *, xmlFreeDoc)
#define _cleanup_xml_doc_ CLV_CLEANUP(xmlFreeDocp)

void clv_xml_free_text(char **text);
#define _cleanup_xml_text_ CLV_CLEANUP(clv_xml_free_text)

bool clv_xml_is_named(const xmlNode *node, const char *name);
/* The first child of that name, and the next of its siblings; in any namespace. */
const xmlNode *clv_xml_child(const xmlNode *node, const char *name);
const xmlNode *clv_xml_next(const xmlNode *node, const char *name);

/* NULL: there is none.  The caller frees it by clv_xml_free_text(). */
char *clv_xml_attribute(const xmlNode *node, const char *name);
char *clv_xml_content(const xmlNode *node);
/* Whether the attribute has the value. */
bool clv_xml_is(const xmlNode *node, const char *name, const char *value);
/* Copies an attribute; "" if there is none, or it is too long. */
void clv_xml_copy(const xmlNode *node, const char *name, char *ret, size_t ret_bytes);

/* The controller of the PCI root complex among a domain's devices. */
const xmlNode *clv_xml_pci_root(const xmlNode *devices);
