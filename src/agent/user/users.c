/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of users in the loop's thread, and the thread that looks them up.  That thread
 * may hang in the database for good: it shares two lists with the loop and nothing else,
 * and an agent that ends leaves it behind. */
#include "agent/user/users.h"

#include "agent/user/subids.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define KNOWN_MAX 4096u
#define FRESH_NS (30 * CLV_NS_PER_S)
#define GROUPS_MAX 65536 /* NGROUPS_MAX of the kernel */
#define ROOM_FIRST_BYTES 4096u
#define ROOM_MAX_BYTES ((size_t)1 << 20)
#define SUBIDS "/etc/subuid"
#define SUBIDS_MAX_BYTES ((size_t)1 << 20)
#define END_WAIT_NS (100 * CLV_NS_PER_MS)

/* What is known of a user, or asked. */
struct entry {
	TAILQ_ENTRY(entry) link;
	bool is_by_name;      /* asked by name, else by uid */
	struct clv_user user; /* uid or name, as asked; all of it if code is 0 */
	int code;             /* 0, -ENOENT or another error */
	gid_t *groups;
	int n_groups;
	uint64_t known_ns; /* when it was found; 0: never */
	bool is_asked;     /* the thread has a copy of it */
};

TAILQ_HEAD(list, entry);

static struct {
	struct list known; /* the one that was used last is first */
	unsigned int n_known;
	sd_event_source *source;
	void (*on_found)(void *userdata);
	void *userdata;
	bool is_started;
} users = {.known = TAILQ_HEAD_INITIALIZER(users.known)};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t has_work;
	struct list asked, answered;
	int event_fd;
	bool is_over;
	pthread_t thread;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.has_work = PTHREAD_COND_INITIALIZER,
	.asked = TAILQ_HEAD_INITIALIZER(worker.asked),
	.answered = TAILQ_HEAD_INITIALIZER(worker.answered),
	.event_fd = -1};

/* The database.  Called by the thread, or before it is started. */

static int ask(const struct entry *entry, struct passwd *ret, char *room, size_t n_bytes)
{
	struct passwd *found = NULL;
	int r = entry->is_by_name
			? getpwnam_r(entry->user.name, ret, room, n_bytes, &found)
			: getpwuid_r(entry->user.uid, ret, room, n_bytes, &found);

	if (r == 0)
		return found ? 0 : -ENOENT;
	return r == ESRCH ? -ENOENT : -r;
}

static void find_groups(struct entry *entry)
{
	gid_t *groups = calloc(GROUPS_MAX, sizeof(*groups)), *fewer;
	int n = GROUPS_MAX;

	if (!groups)
		return;
	if (getgrouplist(entry->user.name, entry->user.gid, groups, &n) < 0)
		n = GROUPS_MAX;
	fewer = realloc(groups, (size_t)n * sizeof(*groups) + 1);
	entry->groups = fewer ? fewer : groups;
	entry->n_groups = n;
}

static void find_entry(struct entry *entry)
{
	struct passwd found;

	entry->code = -ERANGE;
	for (size_t n = ROOM_FIRST_BYTES; entry->code == -ERANGE && n <= ROOM_MAX_BYTES;
		n *= 4) {
		_cleanup_free_ char *room = malloc(n);

		entry->code = room ? ask(entry, &found, room, n) : -ENOMEM;
		if (entry->code < 0)
			continue;
		entry->user.uid = entry->user.account = found.pw_uid;
		entry->user.gid = found.pw_gid;
		/* The database may spell a name in another way than who asks for it. */
		if (!entry->is_by_name)
			snprintf(entry->user.name, sizeof(entry->user.name), "%s",
				found.pw_name);
	}
}

/* The user that has a range can be each of its uids.  In root's are those of containers
 * that root has made, each for a user of its own. */
static uid_t find_account(uid_t uid)
{
	struct entry owner = {.is_by_name = true};
	_cleanup_free_ char *text = NULL;
	char *name = owner.user.name;

	if (clv_file_read_regular(SUBIDS, SUBIDS_MAX_BYTES, &text, NULL, NULL) < 0 ||
		!clv_subids_find(text, uid, name, sizeof(owner.user.name)))
		return uid;
	owner.user.uid = (uid_t)strtoul(name, NULL, 10);
	owner.is_by_name = name[strspn(name, "0123456789")] != '\0';
	find_entry(&owner);
	return owner.code == 0 && owner.user.uid != 0 ? owner.user.uid : uid;
}

static void look_up(struct entry *entry)
{
	find_entry(entry);
	if (entry->code < 0)
		entry->user.account =
			entry->is_by_name ? 0 : find_account(entry->user.uid);
	else if (entry->user.uid != 0 && entry->user.uid != geteuid())
		find_groups(entry);
}

static struct entry *free_entry(struct entry *entry)
{
	free(entry->groups);
	free(entry);
	return NULL;
}

static void *run_worker(void *userdata)
{
	clv_thread_block_signals();
	pthread_mutex_lock(&worker.lock);
	while (!worker.is_over) {
		struct entry *entry = TAILQ_FIRST(&worker.asked);

		if (!entry) {
			pthread_cond_wait(&worker.has_work, &worker.lock);
			continue;
		}
		TAILQ_REMOVE(&worker.asked, entry, link);
		pthread_mutex_unlock(&worker.lock);
		look_up(entry);
		pthread_mutex_lock(&worker.lock);
		TAILQ_INSERT_TAIL(&worker.answered, entry, link);
		eventfd_write(worker.event_fd, 1);
	}
	pthread_mutex_unlock(&worker.lock);
	return NULL;
}

/* The cache. */

static bool is_of(const struct entry *entry, const struct entry *wanted)
{
	if (wanted->is_by_name)
		return strcmp(entry->user.name, wanted->user.name) == 0 &&
		       (entry->is_by_name || entry->code == 0);
	return entry->user.uid == wanted->user.uid &&
	       (!entry->is_by_name || (entry->code == 0 && entry->known_ns > 0));
}

static struct entry *copy(const struct entry *wanted)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry) {
		entry->is_by_name = wanted->is_by_name;
		entry->user = wanted->user;
	}
	return entry;
}

static void forget(struct entry *entry)
{
	TAILQ_REMOVE(&users.known, entry, link);
	users.n_known--;
	free_entry(entry);
}

static struct entry *add(const struct entry *wanted)
{
	struct entry *entry = copy(wanted);

	if (!entry)
		return NULL;
	if (users.n_known >= KNOWN_MAX)
		forget(TAILQ_LAST(&users.known, list));
	TAILQ_INSERT_HEAD(&users.known, entry, link);
	users.n_known++;
	return entry;
}

static struct entry *find(const struct entry *wanted)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &users.known, link)
	{
		if (!is_of(entry, wanted))
			continue;
		TAILQ_REMOVE(&users.known, entry, link);
		TAILQ_INSERT_HEAD(&users.known, entry, link);
		return entry;
	}
	return NULL;
}

/* Takes the result of a look-up.  An error of the database leaves what was known. */
static void take(struct entry *entry, struct entry *answer)
{
	entry->is_asked = false;
	if (answer->code < 0 && answer->code != -ENOENT && entry->known_ns > 0 &&
		entry->code == 0)
		return;
	entry->code = answer->code;
	if (answer->code == 0)
		entry->user = answer->user;
	entry->user.account = answer->user.account;
	free(entry->groups);
	entry->groups = answer->groups;
	entry->n_groups = answer->n_groups;
	answer->groups = NULL;
	entry->known_ns = clv_clock_ns();
}

static void send(struct entry *entry)
{
	struct entry *asked = copy(entry);

	if (!asked || entry->is_asked) {
		free(asked);
		return;
	}
	entry->is_asked = true;
	pthread_mutex_lock(&worker.lock);
	TAILQ_INSERT_TAIL(&worker.asked, asked, link);
	pthread_cond_signal(&worker.has_work);
	pthread_mutex_unlock(&worker.lock);
}

static void look_up_now(struct entry *entry)
{
	struct entry *answer = copy(entry);

	if (!answer)
		return;
	look_up(answer);
	take(entry, answer);
	free_entry(answer);
}

/* What is known of a user.  NULL: out of memory. */
static struct entry *get(const struct entry *wanted)
{
	struct entry *entry = find(wanted);

	if (!entry)
		entry = add(wanted);
	if (!entry)
		return NULL;
	if (!users.is_started)
		look_up_now(entry);
	else if (entry->known_ns == 0 || clv_clock_ns() - entry->known_ns > FRESH_NS)
		send(entry);
	return entry;
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct list answers = TAILQ_HEAD_INITIALIZER(answers);
	struct entry *answer;
	eventfd_t n;

	eventfd_read(fd, &n);
	pthread_mutex_lock(&worker.lock);
	TAILQ_CONCAT(&answers, &worker.answered, link);
	pthread_mutex_unlock(&worker.lock);
	while ((answer = TAILQ_FIRST(&answers))) {
		struct entry *entry;

		TAILQ_REMOVE(&answers, answer, link);
		TAILQ_FOREACH(entry, &users.known, link)
		{
			if (entry->is_asked && is_of(entry, answer)) {
				take(entry, answer);
				break;
			}
		}
		free_entry(answer);
	}
	users.on_found(users.userdata);
	return 0;
}

int clv_users_start(sd_event *event, void (*on_found)(void *userdata), void *userdata,
	struct clv_error *err)
{
	int r;

	worker.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker.event_fd < 0)
		return clv_error_errno(err, errno, "cannot look users up");
	users.on_found = on_found;
	users.userdata = userdata;
	r = -sd_event_add_io(
		event, &users.source, worker.event_fd, EPOLLIN, on_answer, NULL);
	worker.is_over = false;
	if (r <= 0)
		r = pthread_create(&worker.thread, NULL, run_worker, NULL);
	if (r > 0)
		return clv_error_errno(err, r, "cannot look users up");
	users.is_started = true;
	return 0;
}

void clv_users_stop(void)
{
	struct timespec until;

	users.source = sd_event_source_disable_unref(users.source);
	if (users.is_started) {
		pthread_mutex_lock(&worker.lock);
		worker.is_over = true;
		pthread_cond_signal(&worker.has_work);
		pthread_mutex_unlock(&worker.lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)END_WAIT_NS;
		until.tv_sec += until.tv_nsec / (long)CLV_NS_PER_S;
		until.tv_nsec %= (long)CLV_NS_PER_S;
		if (pthread_timedjoin_np(worker.thread, NULL, &until) == 0)
			clv_close_fd(&worker.event_fd);
	}
	users.is_started = false;
	while (!TAILQ_EMPTY(&users.known))
		forget(TAILQ_FIRST(&users.known));
}

static int answer(const struct entry *wanted, struct clv_user *ret)
{
	const struct entry *entry = get(wanted);

	if (!entry)
		return -ENOMEM;
	if (entry->known_ns == 0)
		return -EINPROGRESS;
	if (entry->code == 0)
		*ret = entry->user;
	ret->account = entry->user.account;
	return entry->code;
}

int clv_users_by_uid(uid_t uid, struct clv_user *ret)
{
	const struct entry wanted = {.user.uid = uid};

	return answer(&wanted, ret);
}

int clv_users_by_name(const char *name, struct clv_user *ret)
{
	struct entry wanted = {.is_by_name = true};

	if (strlen(name) >= sizeof(wanted.user.name))
		return -ENOENT;
	strcpy(wanted.user.name, name);
	return answer(&wanted, ret);
}

/* Whether it is the name of a tenant that is no user, or the number of a uid that has
 * no entry: the database has no groups of them. */
static bool is_no_user(const char *name)
{
	struct entry wanted = {.user.uid = (uid_t)strtoul(name, NULL, 10)};
	const struct entry *entry;

	if (name[strspn(name, "0123456789")] != '\0')
		return name[0] == '@';
	entry = find(&wanted);
	return entry && entry->known_ns > 0 && entry->code == -ENOENT;
}

int clv_users_is_in(const char *name, gid_t primary, gid_t group)
{
	struct entry wanted = {.is_by_name = true};
	const struct entry *entry;

	if (primary == group)
		return 1;
	if (is_no_user(name))
		return 0;
	snprintf(wanted.user.name, sizeof(wanted.user.name), "%s", name);
	entry = get(&wanted);
	if (entry && entry->known_ns == 0)
		return -EINPROGRESS;
	for (int i = 0; entry && i < entry->n_groups; i++) {
		if (entry->groups[i] == group)
			return 1;
	}
	return 0;
}
