/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/memory/exports.h"

#include "arbiter/attach.h"
#include "base/watched.h"
#include "gate/attach/attach.h"
#include "gate/process/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Programs that close unknown descriptors mostly stop at a few hundred. */
#define HIGH_FD 900

#define ROOM_TIMEOUT_MS 200

/* A signal that the instance never sends: it tells the instance from another file of the
 * program's that has its number by now. */
#define MARK SIGRTMAX

static _Atomic int instance_fd = -1;
static uint32_t n_instances;
/* The agent that has the instance. */
static _Atomic(const struct clv_view *) notified;

static int duplicate_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* The program may close descriptors that it does not know, and then use their numbers. */
static bool is_intact(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETSIG) == MARK;
}

static bool make_instance(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return false;
	if (fcntl(fd, F_SETSIG, MARK) < 0) {
		close(fd);
		return false;
	}
	n_instances++;
	atomic_store(&notified, NULL);
	atomic_store(&instance_fd, duplicate_high(fd));
	return true;
}

/* An agent that is gone has a successor, which is notified when this process attaches to
 * it. */
static bool tell(const struct clv_view *view)
{
	const struct clv_attach_exports message = {.magic = CLV_ATTACH_EXPORTS_MAGIC};
	int fd = atomic_load(&instance_fd);

	if (atomic_load(&notified) == view)
		return true;
	if (!clv_attach_tell(view, &message, sizeof(message), &fd)) {
		clv_attach_wait_for_room(view, ROOM_TIMEOUT_MS);
		if (!clv_attach_tell(view, &message, sizeof(message), &fd))
			return clv_gate_agent_is_dead(view);
	}
	atomic_store(&notified, view);
	return true;
}

static bool tell_present(void)
{
	const struct clv_view *view;

	do {
		view = clv_gate_current_view();
		if (view && !tell(view))
			return false;
	} while (view != clv_gate_current_view());
	return true;
}

static int add(int fd, uint64_t data)
{
	struct epoll_event event = {.data.u64 = data};

	return epoll_ctl(atomic_load(&instance_fd), EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : errno;
}

enum clv_export_watch clv_exports_watch(
	const struct clv_view *view, int fd, uint32_t number, uint64_t n_bytes)
{
	uint64_t data = CLV_ATTACH_EXPORT_DATA(number, n_bytes);
	int saved_errno = errno, r;

	if (!is_intact(atomic_load(&instance_fd)) && !make_instance())
		return CLV_EXPORT_REFUSED;
	r = add(fd, data);
	errno = saved_errno;
	if (r == EPERM)
		return CLV_EXPORT_UNWATCHABLE;
	return r == 0 && tell_present() ? CLV_EXPORT_WATCHED : CLV_EXPORT_REFUSED;
}

uint32_t clv_exports_instance(void)
{
	return n_instances;
}

struct visit {
	void (*visit)(uint32_t number, void *userdata);
	void *userdata;
};

static void visit_data(uint64_t data, void *userdata)
{
	const struct visit *visit = userdata;

	visit->visit(CLV_ATTACH_EXPORT_NUMBER(data), visit->userdata);
}

bool clv_exports_visit(void (*visit)(uint32_t number, void *userdata), void *userdata)
{
	struct visit all = {visit, userdata};
	int fd = atomic_load(&instance_fd);

	return is_intact(fd) && clv_watched_visit(fd, visit_data, &all);
}

void clv_exports_tell_again(const struct clv_view *view)
{
	if (is_intact(atomic_load(&instance_fd)))
		tell(view);
}

/* The child has a copy of the descriptor. */
void clv_exports_forget_parent(void)
{
	int fd = atomic_exchange(&instance_fd, -1);

	if (is_intact(fd))
		close(fd);
	n_instances++;
	atomic_store(&notified, NULL);
}
