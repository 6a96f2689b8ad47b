/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's reply as the gate reads it: any bytes, any number of descriptors of any
 * kind. The gate may refuse or accept a reply, but may not leak a descriptor, and must
 * have mapped what it accepted. The first byte selects the descriptors that are sent. */
#include "fuzz.h"

#include "gate/attach/attach.c"

/* Not part of what is tested. */
static int make_page(size_t n_bytes)
{
	int fd = memfd_create("page", MFD_CLOEXEC);

	CLV_MUST(fd >= 0 && ftruncate(fd, (off_t)n_bytes) == 0);
	return fd;
}

static void drop_view(struct clv_view *view)
{
	CLV_MUST(view->control && view->report && view->slot_index < CLV_SLOTS);
	CLV_MUST(view->slot == &view->report->slots[view->slot_index]);
	CLV_MUST(view->platform[sizeof(view->platform) - 1] == '\0');
	CLV_MUST(view->model[sizeof(view->model) - 1] == '\0');
	CLV_MUST(view->devices[sizeof(view->devices) - 1] == '\0');
	munmap(view->control, CLV_CONTROL_PAGE_BYTES);
	munmap(view->report, CLV_REPORT_PAGE_BYTES);
	close(view->socket_fd);
	close(view->report_fd);
	close(view->doorbell_fd);
}

static void answer(int fd, uint8_t which, const uint8_t *data, size_t n_bytes)
{
	int fds[CLV_SOCKET_FDS_MAX];
	size_t n_fds = which % (CLV_SOCKET_FDS_MAX + 1);

	for (size_t i = 0; i < n_fds; i++)
		fds[i] = which & 0x80 && i == n_fds - 1
				 ? dup(fd)
				 : make_page(CLV_REPORT_PAGE_BYTES);
	clv_socket_send(fd, data, n_bytes, fds, n_fds);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_attach_reply reply = {0};
	struct clv_error err = {0};
	struct clv_view view = {0};
	int pair[2], fds[CLV_ATTACH_FDS], n_before, r;

	if (n_bytes < 2)
		return 0;
	n_before = clv_fuzz_count_open();
	CLV_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	answer(pair[1], data[0], data + 1, n_bytes - 1);
	shutdown(pair[1], SHUT_WR);
	r = exchange(pair[0], CLV_ATTACH_API_OPENCL, NULL, &reply, fds, &err);
	if (r >= 0 && build_view(&view, &reply, pair[0], fds, &err) >= 0) {
		drop_view(&view);
	} else {
		CLV_MUST(r < 0 && err.msg[0]);
		close(pair[0]);
	}
	close(pair[1]);
	CLV_MUST(clv_fuzz_count_open() == n_before);
	return 0;
}
