/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-kubelet: the device plugin and DRA driver, which give shares and partitions to
 * the containers of a Kubernetes node. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "bridge/kubernetes/apiserver/announce.h"
#include "bridge/kubernetes/apiserver/section.h"
#include "bridge/kubernetes/kubelet/dra.h"
#include "bridge/kubernetes/kubelet/plugin.h"
#include "bridge/kubernetes/kubelet/pods.h"
#include "bridge/kubernetes/kubelet/service.h"
#include "bridge/kubernetes/kubelet/status.h"
#include "bridge/kubernetes/kubelet/watch.h"
#include "bridge/kubernetes/lease/classes.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/resource/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>

#define CONFIG "/etc/cleave/kubelet.yaml"
#define EXIT_FAILED 125

static const char help[] =
	"usage: cleave-kubelet [--config FILE]\n"
	"Gives shares and partitions of this node's devices to containers.\n"
	"  --config FILE  the settings (default: " CONFIG ", if it exists)\n"
	"  --alive        test whether cleave-kubelet runs, by its status file\n"
	"  --ready        test whether kubelet has registered it, in the same way\n"
	"  --version      print the version\n"
	"  --help         print this help\n";

/* The pid of the process that holds the lock, or 0. */
static pid_t holder_of(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* One instance for a kubelet: two would replace each other's sockets.  A pod has only
 * some of kubelet's folders, and kubelet clears that of the device plugins.  Returns the
 * lock's descriptor. */
static int lock(const struct clv_kube *kube, struct clv_error *err)
{
	char path[CLV_KUBE_SOCKET_MAX];
	int fd, r;

	clv_kube_path(kube, "pod-resources", path);
	r = clv_path_make(path, 0750, err);
	if (r < 0)
		return r;
	clv_kube_path(kube, "pod-resources/cleave-kubelet.lock", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		clv_error_set(err, -EALREADY,
			"cleave-kubelet serves this kubelet already (process %d)",
			(int)holder_of(fd));
		close(fd);
		return -EALREADY;
	}
	if (ftruncate(fd, 0) < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		clv_log_debug("cannot write the process id into the lock file");
	return fd;
}

static int watch_signals(struct clv_kube *kube)
{
	static const int signals[] = {SIGTERM, SIGINT};
	sigset_t mask;
	int r = 0;

	sigemptyset(&mask);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(signals); i++)
		sigaddset(&mask, signals[i]);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(signals) && r >= 0; i++)
		r = sd_event_add_signal(kube->event, NULL, signals[i], NULL, NULL);
	return r;
}

static struct json_t *list_unlisted(void *userdata)
{
	return clv_kube_lease_sync_list_unlisted(userdata);
}

static int build_announcer(struct clv_kube *kube, struct clv_error *err)
{
	const struct clv_kube_announcer_options options = {list_unlisted, kube->sync};

	return kube->settings.announces ? clv_kube_announcer_new(&kube->settings,
						  &options, &kube->announcer, err)
					: 0;
}

static int build(struct clv_kube *kube, int interrupt_fd, struct clv_error *err)
{
	int r = sd_event_new(&kube->event);

	if (r >= 0)
		r = watch_signals(kube);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot make an event loop");
	kube->pair = calloc(1, sizeof(*kube->pair));
	if (!kube->pair)
		return clv_error_errno(err, ENOMEM, "cannot start");
	r = clv_kube_lease_sync_new(&kube->settings, interrupt_fd, &kube->sync, err);
	if (r >= 0)
		r = clv_kube_worker_new(kube->event, kube->sync, &kube->worker, err);
	if (r >= 0)
		r = clv_kube_pods_new(kube, &kube->pods, err);
	if (r >= 0 && kube->settings.has_dra)
		r = clv_kube_dra_new(kube, &kube->dra, err);
	if (r >= 0)
		r = build_announcer(kube, err);
	if (r >= 0 && kube->settings.has_classes)
		r = clv_kube_classes_new(&kube->settings, &kube->classes, err);
	if (r >= 0)
		r = clv_kube_watch_new(kube, &kube->watch, err);
	if (r >= 0)
		r = clv_kube_status_write(kube, err);
	return r < 0 ? r : clv_kube_kubelet_watch(kube, err);
}

static void tear_down(struct clv_kube *kube, int interrupt_fd)
{
	clv_kube_kubelet_unwatch(kube);
	eventfd_write(interrupt_fd, 1);
	/* The last jobs begin no others: without a worker there are none. */
	clv_kube_worker_free(CLV_TAKE(kube->worker));
	for (size_t i = 0; i < kube->n_plugins; i++)
		clv_kube_plugin_free(kube->plugins[i]);
	free(kube->plugins);
	free(kube->resources);
	clv_kube_announcer_free(kube->announcer);
	clv_kube_classes_free(kube->classes);
	clv_kube_dra_free(kube->dra);
	clv_kube_watch_free(kube->watch);
	clv_kube_pods_free(kube->pods);
	clv_kube_lease_sync_free(kube->sync);
	clv_kube_inventory_clear(&kube->inventory);
	if (kube->pair)
		clv_kube_pair_clear(kube->pair);
	free(kube->pair);
	sd_event_unref(kube->event);
}

/* --- The node's section of the settings --- */

struct section {
	char name[CLV_KUBE_NAME_MAX]; /* "": none */
	struct clv_kube_section_watch *watch;
	int changed_fd; /* an eventfd */
	bool is_changed;
};

static int read_section(
	struct clv_kube *kube, struct section *section, struct clv_error *err)
{
	int r;

	if (kube->settings.sections[0] == '\0')
		return 0;
	r = clv_kube_section_ask(&kube->settings, section->name, err);
	if (r < 0 || section->name[0] == '\0')
		return r;
	r = clv_kube_settings_read_section(section->name, &kube->settings, err);
	if (r < 0)
		return clv_error_prefix(err, "the node has the label %s=%s",
			CLV_KUBE_SECTION_LABEL, section->name);
	clv_log_info("the node has the section %s of the settings", section->name);
	return 0;
}

static int on_changed(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct section *section = userdata;

	section->is_changed = true;
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int watch_section(
	struct clv_kube *kube, struct section *section, struct clv_error *err)
{
	int r;

	if (kube->settings.sections[0] == '\0')
		return 0;
	section->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = section->changed_fd < 0
		    ? -errno
		    : sd_event_add_io(kube->event, NULL, section->changed_fd, EPOLLIN,
			      on_changed, section);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot watch the node's label");
	return clv_kube_section_watch_new(&kube->settings, section->name,
		section->changed_fd, &section->watch, err);
}

/* Everything that depends on the settings is made again. */
static void restart_if_changed(const struct section *section, char **argv)
{
	if (!section->is_changed)
		return;
	clv_log_info("the node has another section of the settings: starting again");
	execv("/proc/self/exe", argv);
	clv_log_error(0, "cannot start again: %m");
}

static int serve(struct clv_kube *kube, char **argv)
{
	struct section section = {.changed_fd = -1};
	struct clv_error err = {};
	_cleanup_close_ int interrupt_fd = eventfd(0, EFD_CLOEXEC);
	_cleanup_close_ int lock_fd = -1;
	int r = interrupt_fd < 0 ? clv_error_errno(&err, errno, "cannot start") : 0;

	if (r >= 0)
		r = lock_fd = lock(kube, &err);
	if (r >= 0)
		r = read_section(kube, &section, &err);
	if (r >= 0)
		r = build(kube, interrupt_fd, &err);
	if (r >= 0)
		r = watch_section(kube, &section, &err);
	if (r >= 0) {
		sd_notify(0, "READY=1");
		r = sd_event_loop(kube->event);
		if (r < 0)
			clv_error_errno(&err, -r, "the event loop failed");
	}
	if (r < 0)
		clv_log_error(r, "%s", err.msg);
	clv_kube_section_watch_free(section.watch);
	tear_down(kube, interrupt_fd);
	clv_close_fd(&section.changed_fd);
	if (r >= 0)
		restart_if_changed(&section, argv);
	return r >= 0 ? 0 : r == -EALREADY ? EX_TEMPFAIL : EXIT_FAILED;
}

static int read_settings(const char *path, struct clv_kube_settings *settings)
{
	struct clv_error err = {};

	if (!path && access(CONFIG, F_OK) < 0)
		return 0;
	if (clv_kube_settings_read(path ? path : CONFIG, settings, &err) >= 0)
		return 0;
	clv_log_error(0, "%s", err.msg);
	return -EINVAL;
}

static int answer_probe(const struct clv_kube *kube, enum clv_kube_probe probe)
{
	struct clv_error err = {};

	if (clv_kube_status_probe(&kube->settings, probe, &err) >= 0)
		return 0;
	clv_log_error(0, "%s", err.msg);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"alive", no_argument, NULL, 'a'},
		{"ready", no_argument, NULL, 'r'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{},
	};
	enum clv_kube_probe probe = CLV_KUBE_NO_PROBE;
	struct clv_kube kube = {};
	const char *path = NULL;
	int option;

	clv_log_set_level_from_env();
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			path = optarg;
			break;
		case 'a':
			probe = CLV_KUBE_ALIVE;
			break;
		case 'r':
			probe = CLV_KUBE_READY;
			break;
		case 'v':
			puts("cleave-kubelet " CLV_VERSION);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return EX_USAGE;
		}
	}
	if (optind < argc) {
		fputs(help, stderr);
		return EX_USAGE;
	}
	/* One arena with a low trim threshold, so that the memory of long lists of ids is
	 * returned to the system. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 1 << 18);
	clv_kube_settings_init(&kube.settings);
	if (read_settings(path, &kube.settings) < 0)
		return EX_CONFIG;
	return probe == CLV_KUBE_NO_PROBE ? serve(&kube, argv)
					  : answer_probe(&kube, probe);
}
