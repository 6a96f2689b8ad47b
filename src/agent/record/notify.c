/* SPDX-License-Identifier: Apache-2.0 */
/* Publish and subscribe between the rooms of the agent. */
#include "agent/record/notify.h"

#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct clv_notify {
	struct {
		size_t n;
		struct {
			clv_notify_fn function;
			void *userdata;
		} items[CLV_NOTIFY_SUBSCRIBERS];
	} subscribers[_CLV_NOTICE_TYPE_MAX];
};

int clv_notify_new(struct clv_notify **ret, struct clv_error *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot start the agent");
}

struct clv_notify *clv_notify_free(struct clv_notify *notify)
{
	free(notify);
	return NULL;
}

void clv_notify_subscribe(struct clv_notify *notify, enum clv_notice_type type,
	clv_notify_fn function, void *userdata)
{
	size_t at = notify->subscribers[type].n++;

	assert(function && type < _CLV_NOTICE_TYPE_MAX);
	assert(at < CLV_NOTIFY_SUBSCRIBERS);
	notify->subscribers[type].items[at].function = function;
	notify->subscribers[type].items[at].userdata = userdata;
}

void clv_notify_publish(struct clv_notify *notify, const struct clv_notice *notice)
{
	size_t n = notify->subscribers[notice->type].n;

	assert(notice->type < _CLV_NOTICE_TYPE_MAX);
	for (size_t i = 0; i < n; i++)
		notify->subscribers[notice->type].items[i].function(
			notify->subscribers[notice->type].items[i].userdata, notice);
}
