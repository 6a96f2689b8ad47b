/* SPDX-License-Identifier: Apache-2.0 */
/* Events of virtual machines, by libvirt's driver `test`, which runs in this process. */
#include "bridge/libvirt/host/watch.h"

#include "base/error.h"
#include "bridge/libvirt/domain/compare.h"
#include "bridge/libvirt/host/change.h"
#include "bridge/libvirt/host/event-names.h"
#include "bridge/libvirt/host/host-internal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define URI "test:///default"
#define MINUTE_MS 60000

static void assert_event(struct clv_vm_watch *watch, const char *type, const char *reason)
{
	struct clv_vm_event event;

	assert_int_equal(clv_vm_watch_next(watch, MINUTE_MS, &event), 1);
	assert_string_equal(event.type, type);
	assert_string_equal(event.reason, reason);
	assert_string_equal(event.name, "test");
	assert_string_equal(event.uri, URI);
	assert_string_equal(event.alias, "");
	assert_int_equal(strlen(event.uuid), CLV_VM_UUID_MAX - 1);
}

static void test_states(void **state)
{
	_cleanup_host_ struct clv_vm_host *host = NULL;
	_cleanup_watch_ struct clv_vm_watch *watch = NULL;
	struct clv_error err = {0};
	struct clv_vm_event event;
	virDomain *domain;

	assert_int_equal(clv_vm_host_open(URI, &host, &err), 0);
	watch = clv_vm_watch_begin(host, &err);
	assert_non_null(watch);
	assert_int_equal(clv_vm_watch_next(watch, 0, &event), 0);
	domain = virDomainLookupByName(host->links[0].connection, "test");
	assert_int_equal(virDomainSuspend(domain), 0);
	assert_int_equal(virDomainResume(domain), 0);
	assert_int_equal(virDomainDestroy(domain), 0);
	assert_int_equal(virDomainCreate(domain), 0);
	assert_event(watch, "paused", "by a command");
	assert_event(watch, "resumed", "by a command");
	assert_event(watch, "stopped", "turned off");
	assert_event(watch, "started", "booted");
	assert_int_equal(clv_vm_watch_next(watch, 0, &event), 0);
	virDomainFree(domain);
}

/* Events that were not read are no trouble at the end. */
static void test_end(void **state)
{
	_cleanup_host_ struct clv_vm_host *host = NULL;
	struct clv_vm_watch *watch;
	struct clv_error err = {0};
	virDomain *domain;

	assert_int_equal(clv_vm_host_open(URI, &host, &err), 0);
	watch = clv_vm_watch_begin(host, &err);
	assert_non_null(watch);
	domain = virDomainLookupByName(host->links[0].connection, "test");
	assert_int_equal(virDomainSuspend(domain), 0);
	assert_null(clv_vm_watch_end(watch));
	assert_int_equal(virDomainResume(domain), 0);
	virDomainFree(domain);
	assert_null(clv_vm_watch_end(NULL));
}

/* The new connection is followed, the former one is not. */
static void test_reconnect(void **state)
{
	_cleanup_host_ struct clv_vm_host *host = NULL;
	_cleanup_watch_ struct clv_vm_watch *watch = NULL;
	struct clv_error err = {0};
	struct clv_vm_event event;
	virDomain *domain;

	assert_int_equal(clv_vm_host_open(URI, &host, &err), 0);
	watch = clv_vm_watch_begin(host, &err);
	assert_non_null(watch);
	assert_int_equal(clv_vm_watch_reconnect(watch, URI, &err), 0);
	domain = virDomainLookupByName(host->links[0].connection, "test");
	assert_int_equal(virDomainSuspend(domain), 0);
	assert_event(watch, "paused", "by a command");
	assert_int_equal(clv_vm_watch_next(watch, 0, &event), 0);
	assert_int_equal(virDomainResume(domain), 0);
	virDomainFree(domain);
	assert_int_equal(
		clv_vm_watch_reconnect(watch, "qemu+unix:///system?socket=/none", &err),
		-ECONNREFUSED);
}

static void test_read(void **state)
{
	_cleanup_host_ struct clv_vm_host *host = NULL;
	struct clv_vm_guests guests;
	struct clv_vm_guest guest;
	struct clv_error err = {0};

	assert_int_equal(clv_vm_host_open(URI, &host, &err), 0);
	assert_int_equal(clv_vm_host_count(host), 1);
	assert_int_equal(clv_vm_host_list_of(host, URI, &guests, &err), 0);
	assert_int_equal(guests.n, 1);
	assert_true(guests.is_complete);
	assert_int_equal(
		clv_vm_host_read(host, URI, guests.items[0].config.uuid, &guest, &err),
		0);
	assert_string_equal(guest.config.name, "test");
	assert_true(guest.is_persistent && guest.is_running);
	clv_vm_guest_clear(&guest);
	assert_int_equal(clv_vm_host_read(host, URI,
				 "00000000-0000-0000-0000-00000000000f", &guest, &err),
		-ENOENT);
	assert_int_equal(clv_vm_host_read(host, "test:///", "", &guest, &err), -ENOENT);
	clv_vm_guests_clear(&guests);
}

static void test_names(void **state)
{
	static const struct {
		int event, detail;
		const char *type, *reason;
	} rows[] = {
		{VIR_DOMAIN_EVENT_DEFINED, VIR_DOMAIN_EVENT_DEFINED_RENAMED, "defined",
			"renamed"},
		{VIR_DOMAIN_EVENT_UNDEFINED, VIR_DOMAIN_EVENT_UNDEFINED_REMOVED,
			"undefined", "removed"},
		{VIR_DOMAIN_EVENT_STARTED, VIR_DOMAIN_EVENT_STARTED_MIGRATED, "started",
			"migrated"},
		{VIR_DOMAIN_EVENT_SUSPENDED, VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY_FAILED,
			"paused", "post-copy migration failed"},
		{VIR_DOMAIN_EVENT_RESUMED, VIR_DOMAIN_EVENT_RESUMED_MIGRATED, "resumed",
			"migrated"},
		{VIR_DOMAIN_EVENT_STOPPED, VIR_DOMAIN_EVENT_STOPPED_CRASHED, "stopped",
			"crashed"},
		{VIR_DOMAIN_EVENT_SHUTDOWN, VIR_DOMAIN_EVENT_SHUTDOWN_HOST,
			"shutting_down", "by the host"},
		{VIR_DOMAIN_EVENT_PMSUSPENDED, VIR_DOMAIN_EVENT_PMSUSPENDED_DISK,
			"suspended", "to disk"},
		{VIR_DOMAIN_EVENT_CRASHED, VIR_DOMAIN_EVENT_CRASHED_PANICKED, "crashed",
			"panicked"},
		{VIR_DOMAIN_EVENT_STARTED, 99, "started", ""},
		{VIR_DOMAIN_EVENT_STARTED, -1, "started", ""},
		{99, 0, "changed", ""},
		{-1, 0, "changed", ""},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_vm_event_names names =
			clv_vm_event_names(rows[i].event, rows[i].detail);

		assert_string_equal(names.type, rows[i].type);
		assert_string_equal(names.reason, rows[i].reason);
	}
	assert_string_equal(clv_vm_close_reason(VIR_CONNECT_CLOSE_REASON_EOF),
		"libvirt ended the connection");
	assert_string_equal(clv_vm_close_reason(99), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
