/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a caller of cleave-kubelet sends: HTTP/2 on a connection or, with another
 * first byte, the layers above: gRPC's framing, timeouts and texts, and the messages. */
#include "fuzz.h"

#include "base/error.h"
#include "bridge/kubernetes/device-plugin.pb-c.h"
#include "bridge/kubernetes/dra.pb-c.h"
#include "bridge/kubernetes/pod-resources.pb-c.h"
#include "bridge/kubernetes/registration.pb-c.h"
#include "bridge/rpc/reader.h"
#include "bridge/rpc/server.h"

#include <sys/socket.h>
#include <unistd.h>

static struct clv_rpc_call *held;

static void forget(void *userdata)
{
	held = NULL;
}

static void echo(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	clv_rpc_answer(call, data, n_bytes);
}

/* Keeps one call at a time waiting. */
static void hold(
	struct clv_rpc_call *call, const uint8_t *data, size_t n_bytes, void *userdata)
{
	clv_rpc_send(call, data, n_bytes);
	if (held) {
		clv_rpc_fail(call, CLV_RPC_UNAVAILABLE, "%.*s", (int)n_bytes,
			(const char *)data);
		return;
	}
	held = call;
	clv_rpc_on_end(call, forget, NULL);
}

/* The connection preface of a client, so that the bytes after it are parsed; the last
 * byte of its SETTINGS is the terminating NUL. */
static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";

static void check_connection(const uint8_t *data, size_t n_bytes, bool is_bare)
{
	static const struct clv_rpc_method methods[] = {{"/e", echo}, {"/h", hold}};
	const struct clv_rpc_service service = {methods, 2, NULL};
	struct clv_rpc_server *server = NULL;
	sd_event *event = NULL;
	uint8_t sink[4096];
	int fds[2];

	CLV_MUST(sd_event_new(&event) >= 0);
	CLV_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	CLV_MUST(clv_rpc_server_new(event, "", &service, &server, NULL) == 0);
	CLV_MUST(clv_rpc_server_adopt(server, fds[1]) == 0);
	if (!is_bare)
		CLV_MUST(send(fds[0], preface, sizeof(preface), MSG_NOSIGNAL) > 0);
	for (size_t n = 0; n < n_bytes; n += 4096) {
		size_t more = n_bytes - n < 4096 ? n_bytes - n : 4096;

		if (send(fds[0], data + n, more, MSG_NOSIGNAL) < 0)
			break;
		while (sd_event_run(event, 0) > 0)
			;
		while (recv(fds[0], sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
	}
	close(fds[0]);
	while (sd_event_run(event, 0) > 0)
		;
	clv_rpc_server_free(server);
	CLV_MUST(!held);
	sd_event_unref(event);
}

static void check_reader(const uint8_t *data, size_t n_bytes)
{
	struct clv_rpc_reader reader = {.most_bytes = 1000};
	size_t n_taken = 0;

	while (n_bytes > 0) {
		int r = clv_rpc_reader_take(&reader, data, n_bytes, &n_taken);

		CLV_MUST(n_taken <= n_bytes && r <= 1);
		if (r < 0)
			break;
		CLV_MUST(r == 0 || reader.length <= 1000);
		CLV_MUST(n_taken > 0);
		data += n_taken;
		n_bytes -= n_taken;
	}
	clv_rpc_reader_clear(&reader);
}

static void check_texts(const uint8_t *data, size_t n_bytes)
{
	char escaped[CLV_RPC_ESCAPED_MAX], plain[CLV_RPC_MESSAGE_MAX];
	char again[CLV_RPC_MESSAGE_MAX];
	uint64_t ns = 1;

	clv_rpc_unescape((const char *)data, n_bytes, plain);
	clv_rpc_escape(plain, escaped);
	for (const char *p = escaped; *p; p++)
		CLV_MUST(*p >= 0x20 && *p <= 0x7e);
	clv_rpc_unescape(escaped, strlen(escaped), again);
	CLV_MUST(strcmp(plain, again) == 0);
	if (clv_rpc_parse_timeout((const char *)data, n_bytes, &ns) >= 0)
		CLV_MUST(n_bytes >= 2 && n_bytes <= 9);
}

static void check_messages(const uint8_t *data, size_t n_bytes)
{
	static const ProtobufCMessageDescriptor *const descriptors[] = {
		&v1beta1__allocate_request__descriptor,
		&v1beta1__preferred_allocation_request__descriptor,
		&v1beta1__pre_start_container_request__descriptor,
		&podresources__v1__list_pod_resources_response__descriptor,
		&pluginregistration__registration_status__descriptor,
		&dra__node_prepare_resources_request__descriptor,
		&dra__node_unprepare_resources_request__descriptor,
	};

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		ProtobufCMessage *message =
			protobuf_c_message_unpack(descriptors[i], NULL, n_bytes, data);

		if (message)
			protobuf_c_message_free_unpacked(message, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	if (n_bytes == 0 || n_bytes > 65536)
		return 0;
	if (data[0] % 4 == 0)
		check_connection(data + 1, n_bytes - 1, data[0] % 8 == 4);
	else if (data[0] % 4 == 1)
		check_reader(data + 1, n_bytes - 1);
	else if (data[0] % 4 == 2)
		check_texts(data + 1, n_bytes - 1);
	else
		check_messages(data + 1, n_bytes - 1);
	return 0;
}
