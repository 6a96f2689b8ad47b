/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/services/engine/probe.h"

#include "base/duration.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_WITHIN_NS CLV_NS_PER_S

void clv_probe_end(struct clv_probe *probe)
{
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
}

static void start(
	struct clv_probe *probe, const char *address, uint16_t port, uint64_t now_ns)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};

	probe->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	probe->since_ns = now_ns;
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
		(connect(probe->fd, (struct sockaddr *)&to, sizeof(to)) < 0 &&
			errno != EINPROGRESS))
		clv_probe_end(probe);
}

bool clv_probe_accepts(
	struct clv_probe *probe, const char *address, uint16_t port, uint64_t now_ns)
{
	struct pollfd wait = {.events = POLLOUT};
	int error = 0;
	socklen_t n_bytes = sizeof(error);
	bool is_done;

	if (probe->fd < 0)
		start(probe, address, port, now_ns);
	wait.fd = probe->fd;
	is_done = probe->fd >= 0 && poll(&wait, 1, 0) == 1;
	if (!is_done && now_ns < probe->since_ns + CONNECT_WITHIN_NS)
		return false;
	is_done = is_done &&
		  getsockopt(wait.fd, SOL_SOCKET, SO_ERROR, &error, &n_bytes) == 0 &&
		  error == 0;
	clv_probe_end(probe);
	return is_done;
}
