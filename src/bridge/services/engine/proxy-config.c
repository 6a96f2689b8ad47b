/* SPDX-License-Identifier: Apache-2.0 */
/* HAProxy's configuration of a project. */
#include "bridge/services/engine/proxy-config.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "service/service.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHAPE "# shape "
/* Also the seconds that a request waits for a replica where the last one has ended. */
#define RETRIES 10u
#define FILE_MAX_BYTES (4u << 20)

/* The time is for clients that are no browsers too: about that of a container's start. */
const char clv_proxy_refusal[] =
	"HTTP/1.1 503 Service Unavailable\r\n"
	"Retry-After: 5\r\n"
	"Cache-Control: no-cache\r\n"
	"Connection: close\r\n"
	"Content-Type: text/plain\r\n"
	"\r\n"
	"No replica of this service is ready: try again in some seconds\r\n";

char *clv_proxy_config_shape(const struct clv_service *service)
{
	char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	if (!to)
		return NULL;
	for (size_t i = 0; i < service->n_ports; i++) {
		const struct clv_service_port *port = &service->ports[i];

		fprintf(to, "%s:%u:%u/%s/%u ", port->host_ip ? port->host_ip : "*",
			port->published, port->target, port->is_http ? "http" : "tcp",
			clv_proxy_slots(service));
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

bool clv_proxy_config_has_shape(const char *path, const char *shape)
{
	_cleanup_free_ char *text = NULL;
	size_t n = strlen(shape);

	if (clv_file_read_all(path, FILE_MAX_BYTES, &text, NULL, NULL) < 0 ||
		strncmp(text, SHAPE, sizeof(SHAPE) - 1) != 0)
		return false;
	return strncmp(text + sizeof(SHAPE) - 1, shape, n) == 0 &&
	       text[sizeof(SHAPE) - 1 + n] == '\n';
}

/* It has its sockets already and needs no rights: the user of HAProxy's package, if the
 * supervisor is root. */
static void write_user(FILE *to)
{
	if (geteuid() != 0)
		return;
	fprintf(to, "\tuser %s\n", getpwnam("haproxy") ? "haproxy" : "nobody");
	fprintf(to, "\tgroup %s\n", getgrnam("haproxy") ? "haproxy" : "nogroup");
}

/* Paths may have what its language takes for something else. */
static void write_quoted(FILE *to, const char *path)
{
	fputc('"', to);
	for (; *path; path++) {
		if (strchr("\"\\$", *path))
			fputc('\\', to);
		fputc(*path, to);
	}
	fputc('"', to);
}

static void write_global(FILE *to, const struct clv_proxy_config *config)
{
	fprintf(to,
		SHAPE "%s\n"
		      "global\n"
		      "\tnbthread 1\n"
		      "\tstats timeout 1m\n"
		      "\tmaxconn %u\n"
		      "\tstats socket ",
		config->shape, config->n_connections);
	write_quoted(to, config->socket);
	fputs(" mode 600 level admin\n", to);
	write_user(to);
	/* Its own client, which nothing here uses, reads all certificates of the machine
	 * at the start, and a request may wait for that. */
	fputs(".if version_atleast(2.6)\n"
	      ".if feature(OPENSSL)\n"
	      "\thttpclient.ssl.verify none\n"
	      ".endif\n"
	      ".endif\n",
		to);
	fprintf(to,
		"defaults\n"
		"\ttimeout connect 5s\n"
		"\ttimeout http-request 1m\n"
		"\ttimeout http-keep-alive 10s\n"
		"\ttimeout queue 1m\n"
		"\ttimeout client 1h\n"
		"\ttimeout server 1h\n"
		"\ttimeout tunnel 24h\n"
		"\toption redispatch 1\n"
		"\tretries %u\n"
		"\terrorfile 503 ",
		RETRIES);
	write_quoted(to, config->refusal);
	fputc('\n', to);
}

/* Requests that may be repeated are, where a replica ends while it has them.  A
 * connection to a replica has one request: on one that had others before HAProxy 2.6
 * makes all its retries at once. */
static void write_mode(FILE *to, const struct clv_service_port *port)
{
	fprintf(to, "\tmode %s\n", port->is_http ? "http" : "tcp");
	if (!port->is_http)
		return;
	fputs("\toption http-server-close\n"
	      "\tretry-on conn-failure empty-response response-timeout\n"
	      "\thttp-request disable-l7-retry unless { method GET HEAD OPTIONS PUT "
	      "DELETE }\n",
		to);
}

static void write_port(FILE *to, const struct clv_service *service, size_t at,
	const struct clv_proxy_config *config)
{
	const struct clv_service_port *port = &service->ports[at];

	fprintf(to, "frontend %s:%u\n\tmode %s\n\tbind fd@%d\n", service->name,
		port->published, port->is_http ? "http" : "tcp",
		config->first_fd + (int)at);
	fprintf(to, "\tdefault_backend %s:%u\n", service->name, port->published);
	fprintf(to, "backend %s:%u\n", service->name, port->published);
	write_mode(to, port);
	fputs("\tbalance leastconn\n", to);
	/* Nothing listens there: it is tried again each second, and then another server
	 * is if there is one. */
	fprintf(to, "\tserver wait 127.0.0.1:1%s\n", config->holds ? "" : " disabled");
	for (unsigned slot = 0; slot < clv_proxy_slots(service); slot++) {
		const char *address = config->address_of(config->userdata, slot);

		fprintf(to, "\tserver r%u %s:%u%s\n", slot,
			address ? address : "127.0.0.1", port->target,
			address ? "" : " disabled");
	}
}

char *clv_proxy_config_write(
	const struct clv_service *service, const struct clv_proxy_config *config)
{
	char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	if (!to)
		return NULL;
	write_global(to, config);
	for (size_t i = 0; i < service->n_ports; i++)
		write_port(to, service, i, config);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
