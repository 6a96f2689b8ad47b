/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of the settings file about the network: listen, origins and nodes. */
#include "agent/config/config-internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_MAX 65535u
#define VIEWER "clv_viewer_"
#define SECRET_LEAST 32u

static int read_port(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t port;
	int r = clv_yaml_read_number(value, 1, PORT_MAX, &port, err);

	if (r >= 0)
		*(uint16_t *)into = (uint16_t)port;
	return r;
}

static int read_address(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

/* The token is read here, so that a reload reads the file again. */
static int read_viewer_token(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	char path[CLV_CONFIG_TEXT_MAX];
	_cleanup_free_ char *text = NULL;
	struct clv_error why = {};
	int r = clv_config_read_path(value, path, err);

	if (r < 0)
		return r;
	r = clv_file_read_regular(path, CLV_CONFIG_TEXT_MAX - 1, &text, NULL, &why);
	if (r >= 0)
		r = clv_file_check_secret(path, &why);
	if (r < 0)
		return clv_yaml_fail(value, err, r, "%s", why.msg);
	text[strcspn(text, " \t\r\n")] = '\0';
	if (strncmp(text, VIEWER, strlen(VIEWER)) != 0 ||
		strlen(text) < strlen(VIEWER) + SECRET_LEAST)
		return clv_yaml_fail(value, err, -EINVAL,
			"%.100s has no token: write " VIEWER
			" and at least 32 random letters and digits",
			path);
	snprintf(into, CLV_CONFIG_TEXT_MAX, "%s", text + strlen(VIEWER));
	return 0;
}

static const struct clv_yaml_field listen_fields[] = {
	{"address", read_address, false, offsetof(struct clv_config, address)},
	{"port", read_port, true, offsetof(struct clv_config, port)},
	{"certificate", clv_config_read_path, false,
		offsetof(struct clv_config, certificate)},
	{"key", clv_config_read_path, false, offsetof(struct clv_config, key)},
	{"viewer", read_viewer_token, false, offsetof(struct clv_config, viewer_secret)},
};

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

int clv_config_read_listen(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	int r = CLV_CONFIG_MAP(listen_fields, value, config, err);

	if (r < 0)
		return r;
	if ((config->certificate[0] == '\0') != (config->key[0] == '\0'))
		return clv_yaml_fail(
			value, err, -EINVAL, "TLS needs both a certificate and a key");
	if (config->certificate[0] == '\0' && !is_loopback(config->address))
		return clv_yaml_fail(value, err, -EINVAL,
			"tokens would cross the network without encryption: give "
			"certificate and key, or the address 127.0.0.1");
	config->listen_line = clv_yaml_line(value);
	return 0;
}

/* Whether the text begins with HOST or HOST:PORT, and a path, a query or nothing
 * follows.  An IPv6 address is in brackets. */
static bool is_authority(const char *text)
{
	size_t length = strcspn(text, "/?#");
	const char *bracket = text[0] == '[' ? memchr(text, ']', length) : NULL;
	size_t n_host = bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":/?#");
	const char *port = text + n_host + 1;
	unsigned long number;
	char *end;

	if (n_host == 0 || memchr(text, '@', length))
		return false;
	if (n_host == length)
		return true;
	if (text[n_host] != ':' || *port < '0' || *port > '9')
		return false;
	number = strtoul(port, &end, 10);
	return end == text + length && number >= 1 && number <= PORT_MAX;
}

/* The host of an HTTP URL, and the text after it; NULL: the text is no such URL. */
static const char *host_of(const char *url)
{
	static const char *const schemes[] = {"https://", "http://"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(schemes); i++) {
		size_t length = strlen(schemes[i]);

		if (strncmp(url, schemes[i], length) == 0 && is_authority(url + length))
			return url + length;
	}
	return NULL;
}

static int read_url(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_config_read_text(value, into, err);

	if (r >= 0 && !host_of(into))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.80s' is no address of an agent: write https://HOST:PORT, "
			"with a port from 1 to 65535",
			(const char *)into);
	return r;
}

/* An origin in the form in which browsers send it. */
static int read_one_origin(struct clv_yaml_value value, char *into, struct clv_error *err)
{
	int r = clv_config_read_text(value, into, err);
	const char *host = r < 0 ? NULL : host_of(into);

	if (r >= 0 && (!host || strpbrk(host, "/?#@*")))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.80s' is no origin, so no page has it: write "
			"https://HOST or https://HOST:PORT, with a port from 1 to 65535",
			into);
	return r;
}

static int read_origin(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	char(*origin)[CLV_CONFIG_TEXT_MAX] =
		CLV_APPEND(config->origins, config->n_origins);

	return origin ? read_one_origin(value, *origin, err)
		      : clv_config_no_memory(value, err);
}

int clv_config_read_origins(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_origin, into, err);
}

static int read_node_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

static const struct clv_yaml_field node_fields[] = {
	{"name", read_node_name, true, offsetof(struct clv_config_node, name)},
	{"url", read_url, true, offsetof(struct clv_config_node, url)},
};

static int read_node(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_config *config = into;
	struct clv_config_node *node = CLV_APPEND(config->nodes, config->n_nodes);
	int r = node ? CLV_CONFIG_MAP(node_fields, value, node, err)
		     : clv_config_no_memory(value, err);

	for (size_t i = 0; r >= 0 && i + 1 < config->n_nodes; i++) {
		if (strcmp(config->nodes[i].name, node->name) == 0)
			r = clv_yaml_fail(value, err, -EINVAL,
				"two nodes have the name '%s': give one of them another",
				node->name);
	}
	return r;
}

int clv_config_read_nodes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_node, into, err);
}
