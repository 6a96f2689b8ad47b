/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait: for a topic, for a deadline, or for their turn.  A request that
 * waits is a suspended connection, which the timer or the deferred event of this file
 * resumes.
 *
 * The loop's time is divided among the users.  A request of a user who has used much of
 * it is suspended, and one at a time is resumed, between which the requests of others are
 * handled.  So no user keeps another waiting for longer than one request takes. */
#include "agent/http/http-internal.h"

#include "agent/record/agent.h"
#include "base/clock.h"

#include <errno.h>
#include <sys/epoll.h>

static struct clv_exchange *exchange_of(struct clv_request *request)
{
	return (struct clv_exchange *)((char *)request -
				       offsetof(struct clv_exchange, request));
}

int clv_request_wait(struct clv_request *request, unsigned int topics, uint64_t wait_ms)
{
	struct clv_exchange *exchange = exchange_of(request);

	if (exchange->deadline_ns == 0)
		exchange->deadline_ns = clv_clock_ns() + wait_ms * CLV_NS_PER_MS;
	exchange->topics = topics;
	return -EINPROGRESS;
}

/* Sets the timer to the next timeout of a server or of a waiting request. */
static void arm_timer(struct clv_http *http)
{
	uint64_t now_ns = clv_clock_ns(), next_ns = UINT64_MAX;
	const struct clv_exchange *exchange;
	MHD_UNSIGNED_LONG_LONG left_ms;

	/* libmicrohttpd 0.9.75 has no timeout for a connection that was resumed while the
	 * last of the others was closed. */
	if (http->has_resumed)
		next_ns = now_ns;
	for (size_t i = 0; i < http->n_servers; i++) {
		if (MHD_get_timeout(http->servers[i].daemon, &left_ms) == MHD_YES &&
			now_ns + left_ms * CLV_NS_PER_MS < next_ns)
			next_ns = now_ns + left_ms * CLV_NS_PER_MS;
	}
	TAILQ_FOREACH(exchange, &http->waiting, entry)
	{
		if (exchange->deadline_ns < next_ns)
			next_ns = exchange->deadline_ns;
	}
	if (next_ns == UINT64_MAX) {
		sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(http->timer, next_ns / CLV_NS_PER_US + 1);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

void clv_exchange_unlist(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	exchange->is_suspended = false;
	exchange->hangup = sd_event_source_disable_unref(exchange->hangup);
	if (exchange->turn.account) {
		clv_fair_remove(http->fair, &exchange->turn);
		return;
	}
	TAILQ_REMOVE(&http->waiting, exchange, entry);
	http->n_waiting--;
}

static void resume(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	clv_exchange_unlist(exchange);
	MHD_resume_connection(exchange->request.connection);
	/* No descriptor becomes readable by this, so the timer runs the server.  The
	 * server may be running now, and sets the timer again afterwards. */
	http->has_resumed = true;
	sd_event_source_set_time(http->timer, 0);
	sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT);
}

void clv_http_run(struct clv_http *http)
{
	http->has_resumed = false;
	http->has_run_one = false;
	for (size_t i = 0; i < http->n_servers; i++)
		MHD_run(http->servers[i].daemon);
	arm_timer(http);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_http *http = userdata;
	struct clv_exchange *exchange = TAILQ_FIRST(&http->waiting);
	uint64_t now_ns = clv_clock_ns();

	while (exchange) {
		struct clv_exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->deadline_ns <= now_ns)
			resume(exchange);
		exchange = next;
	}
	clv_http_run(http);
	return 0;
}

void clv_http_resume_next_turn(struct clv_http *http)
{
	struct clv_fair_item *item = clv_fair_first(http->fair);
	struct clv_exchange *exchange =
		item ? (struct clv_exchange *)((char *)item -
					       offsetof(struct clv_exchange, turn))
		     : NULL;

	if (!exchange)
		return;
	exchange->has_turn = true;
	resume(exchange);
}

static int on_turn(sd_event_source *source, void *userdata)
{
	struct clv_http *http = userdata;

	clv_http_resume_next_turn(http);
	clv_http_run(http);
	if (clv_fair_count(http->fair) == 0)
		return 0;
	return sd_event_source_set_enabled(http->turns, SD_EVENT_ONESHOT);
}

void clv_http_wake(struct clv_http *http, unsigned int topics)
{
	struct clv_exchange *exchange = TAILQ_FIRST(&http->waiting);

	while (exchange) {
		struct clv_exchange *next = TAILQ_NEXT(exchange, entry);

		if (exchange->topics & topics)
			resume(exchange);
		exchange = next;
	}
}

/* libmicrohttpd does not poll a suspended connection, so it would not notice that the
 * client has hung up. */
static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_exchange *exchange = userdata;

	exchange->is_gone = true;
	resume(exchange);
	return 0;
}

void clv_exchange_suspend(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;

	TAILQ_INSERT_TAIL(&http->waiting, exchange, entry);
	http->n_waiting++;
	exchange->is_suspended = true;
	/* epoll always reports errors and hang-ups; that a client closes its end of a TCP
	 * connection is only reported with EPOLLRDHUP. */
	sd_event_add_io(http->agent->event, &exchange->hangup, exchange->request.fd,
		exchange->request.is_local ? 0 : EPOLLRDHUP, on_hangup, exchange);
	MHD_suspend_connection(exchange->request.connection);
}

static uint64_t account_of(const struct clv_exchange *exchange)
{
	return clv_http_peer_of(exchange->request.connection)->counted_as;
}

void clv_exchange_charge(const struct clv_exchange *exchange, uint64_t since_ns)
{
	uint64_t now_ns = clv_clock_ns();

	clv_fair_charge(
		exchange->http->fair, account_of(exchange), now_ns - since_ns, now_ns);
}

bool clv_exchange_has_turn(struct clv_exchange *exchange)
{
	struct clv_http *http = exchange->http;
	uint64_t account = account_of(exchange);
	/* A client that sends one request after the other is not slowed down. */
	bool is_only = clv_fair_count(http->fair) == 0 && !http->has_run_one;

	if (exchange->has_turn || http->is_stopping ||
		clv_fair_may_pass(http->fair, account, clv_clock_ns())) {
		exchange->has_turn = false;
		return true;
	}
	if (is_only || clv_fair_add(http->fair, &exchange->turn, account) < 0) {
		http->has_run_one = true;
		return true;
	}
	exchange->is_suspended = true;
	MHD_suspend_connection(exchange->request.connection);
	sd_event_source_set_enabled(http->turns, SD_EVENT_ONESHOT);
	return false;
}

int clv_http_add_sources(struct clv_http *http)
{
	sd_event *event = http->agent->event;
	int r = sd_event_add_time(
		event, &http->timer, CLOCK_MONOTONIC, UINT64_MAX, 1, on_timer, http);

	if (r >= 0)
		r = sd_event_add_defer(event, &http->turns, on_turn, http);
	if (r >= 0)
		r = sd_event_source_set_enabled(http->turns, SD_EVENT_OFF);
	return r;
}

size_t clv_http_count_waiting(const struct clv_http *http)
{
	return http->n_waiting + clv_fair_count(http->fair);
}
