/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and volumes, in Compose's short and long forms. */
#include "service/internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Ports --- */

static int fail_port(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -EINVAL,
		"'%.60s' is no port: write 8080:80, 127.0.0.1:8080:80, or target and "
		"published; ranges are not supported",
		clv_yaml_text(value));
}

/* A number of n bytes; 0: it is none. */
static uint16_t parse_port(const char *text, size_t n)
{
	unsigned port = 0;

	if (n == 0 || n > 5)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return 0;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* Whether the text is an address or a name, as far as it can harm no configuration. */
static bool is_address(const char *text)
{
	return *text && strspn(text, "0123456789abcdefABCDEF.:") == strlen(text);
}

static int add_port(struct clv_service *service, struct clv_yaml_value value,
	const struct clv_service_port *port, struct clv_error *err)
{
	struct clv_service_port *added;

	for (size_t i = 0; i < service->n_ports; i++) {
		if (service->ports[i].published == port->published)
			return clv_yaml_fail(value, err, -EINVAL,
				"port %u is published twice", port->published);
	}
	added = CLV_APPEND(service->ports, service->n_ports);
	if (!added)
		return clv_service_no_memory(value, err);
	*added = *port;
	return 0;
}

/* The part before the ports: "127.0.0.1" or "[::1]", of n bytes. */
static int read_host_ip(struct clv_service *service, struct clv_yaml_value value,
	const char *text, size_t n, const char **ret, struct clv_error *err)
{
	if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	*ret = clv_service_own(service->file, text, n);
	if (!*ret)
		return clv_service_no_memory(value, err);
	return is_address(*ret) ? 0 : fail_port(value, err);
}

static int read_short(
	struct clv_service *service, struct clv_yaml_value value, struct clv_error *err)
{
	const char *text = clv_yaml_text(value), *published, *target;
	struct clv_service_port port = {.is_http = true};
	size_t n = strcspn(text, "/");
	int r = 0;

	if (strcmp(text + n, "/udp") == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"UDP is not supported: the proxy is for TCP");
	if (text[n] && strcmp(text + n, "/tcp") != 0)
		return fail_port(value, err);
	target = memrchr(text, ':', n);
	target = target ? target + 1 : text;
	port.target = parse_port(target, (size_t)(text + n - target));
	port.published = port.target;
	if (target > text) {
		const char *end = target - 1;

		published = memrchr(text, ':', (size_t)(end - text));
		published = published ? published + 1 : text;
		port.published = parse_port(published, (size_t)(end - published));
		if (published > text)
			r = read_host_ip(service, value, text,
				(size_t)(published - 1 - text), &port.host_ip, err);
	}
	if (r >= 0 && (port.target == 0 || port.published == 0))
		return fail_port(value, err);
	return r < 0 ? r : add_port(service, value, &port, err);
}

static int read_number(struct clv_yaml_value value, uint16_t *ret, struct clv_error *err)
{
	*ret = parse_port(clv_yaml_text(value), strlen(clv_yaml_text(value)));
	return *ret ? 0 : fail_port(value, err);
}

static int read_target(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_number(value, &((struct clv_service_port *)into)->target, err);
}

static int read_published(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_number(value, &((struct clv_service_port *)into)->published, err);
}

static int read_address(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_port *port = into;

	if (!is_address(clv_yaml_text(value)))
		return clv_yaml_fail(value, err, -EINVAL, "'%.60s' is no address",
			clv_yaml_text(value));
	port->host_ip = clv_yaml_text(value);
	return 0;
}

static int read_protocol(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"tcp"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	return r < 0 ? r : 0;
}

static int read_app_protocol(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"tcp", "http"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct clv_service_port *)into)->is_http = r == 1;
	return r < 0 ? r : 0;
}

static const struct clv_yaml_field port_fields[] = {
	{"target", read_target, true},
	{"published", read_published},
	{"host_ip", read_address},
	{"protocol", read_protocol},
	{"app_protocol", read_app_protocol},
	{"mode", clv_service_skip},
	{"name", clv_service_skip},
	{"x-*", clv_service_skip},
};

static int read_port(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_port port = {.is_http = true};
	int r;

	if (clv_yaml_kind(value) != CLV_YAML_MAP)
		return read_short(into, value, err);
	r = clv_yaml_read_map(
		value, port_fields, CLV_ARRAY_SIZE(port_fields), &port, err);
	if (port.published == 0)
		port.published = port.target;
	return r < 0 ? r : add_port(into, value, &port, err);
}

int clv_service_read_ports(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	return clv_yaml_read_list(value, read_port, into, err);
}

/* --- Volumes --- */

static bool is_path(const char *source)
{
	return source[0] == '/' || source[0] == '.' || source[0] == '~';
}

static int fail_volume(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -EINVAL,
		"'%.60s' is no volume: write SOURCE:TARGET or SOURCE:TARGET:ro, where "
		"TARGET is an absolute path",
		clv_yaml_text(value));
}

/* "~" and "~/..." are the caller's home. */
static int expand_home(struct clv_service *service, struct clv_yaml_value value,
	struct clv_service_volume *volume, struct clv_error *err)
{
	const struct clv_variables *variables = service->file->variables;
	const char *home = variables->get(variables->userdata, "HOME");
	_cleanup_free_ char *path = NULL;

	if ((volume->source[1] && volume->source[1] != '/') || !home || home[0] != '/')
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.60s' is no path here: write an absolute path",
			volume->source);
	if (asprintf(&path, "%s%s", home, volume->source + 1) < 0)
		return clv_service_no_memory(value, err);
	volume->source = clv_service_own(service->file, path, strlen(path));
	return volume->source ? 0 : clv_service_no_memory(value, err);
}

/* A named volume is one of the file's. */
static int check_volume(struct clv_service *service, struct clv_yaml_value value,
	struct clv_service_volume *volume, struct clv_error *err)
{
	const struct clv_service_texts *known = &service->file->volumes;
	struct clv_service_volume *added;
	bool is_known = !volume->source || volume->is_path;
	int r = volume->is_path && volume->source && volume->source[0] == '~'
			? expand_home(service, value, volume, err)
			: 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < known->n && !is_known; i++)
		is_known = strcmp(known->items[i], volume->source) == 0;
	if (!is_known)
		return clv_yaml_fail(value, err, -EINVAL,
			"the volume '%.40s' is not in the file's `volumes`: add it "
			"there, or write ./%.40s for a folder",
			volume->source, volume->source);
	if (!volume->target || volume->target[0] != '/' || strchr(volume->target, ':') ||
		(volume->source && strchr(volume->source, ':')))
		return fail_volume(value, err);
	added = CLV_APPEND(service->volumes, service->n_volumes);
	if (!added)
		return clv_service_no_memory(value, err);
	*added = *volume;
	return 0;
}

static int read_short_volume(
	struct clv_service *service, struct clv_yaml_value value, struct clv_error *err)
{
	const char *text = clv_yaml_text(value), *first = strchr(text, ':'), *second;
	struct clv_service_volume volume = {.target = text};

	if (!first)
		return check_volume(service, value, &volume, err);
	volume.source = clv_service_own(service->file, text, (size_t)(first - text));
	volume.target = first + 1;
	second = strchr(first + 1, ':');
	if (second) {
		volume.is_read_only = strcmp(second, ":ro") == 0;
		if (!volume.is_read_only && strcmp(second, ":rw") != 0)
			return fail_volume(value, err);
		volume.target = clv_service_own(
			service->file, first + 1, (size_t)(second - first - 1));
	}
	if (!volume.source || !volume.target)
		return clv_service_no_memory(value, err);
	if (!*volume.source)
		return fail_volume(value, err);
	volume.is_path = is_path(volume.source);
	return check_volume(service, value, &volume, err);
}

static int read_type(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"volume", "bind"};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		((struct clv_service_volume *)into)->is_path = r == 1;
	return r < 0 ? r : 0;
}

static int read_source(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(
		value, &((struct clv_service_volume *)into)->source, err);
}

static int read_volume_target(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_service_read_text(
		value, &((struct clv_service_volume *)into)->target, err);
}

static int read_read_only(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(
		value, &((struct clv_service_volume *)into)->is_read_only, err);
}

static const struct clv_yaml_field volume_fields[] = {
	{"type", read_type, true},
	{"source", read_source},
	{"target", read_volume_target, true},
	{"read_only", read_read_only},
	{"x-*", clv_service_skip},
};

static int read_volume(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_volume volume = {0};
	int r;

	if (clv_yaml_kind(value) != CLV_YAML_MAP)
		return read_short_volume(into, value, err);
	r = clv_yaml_read_map(
		value, volume_fields, CLV_ARRAY_SIZE(volume_fields), &volume, err);
	return r < 0 ? r : check_volume(into, value, &volume, err);
}

int clv_service_read_volumes(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_yaml_kind(value) == CLV_YAML_NULL)
		return 0;
	return clv_yaml_read_list(value, read_volume, into, err);
}
