/* SPDX-License-Identifier: Apache-2.0 */
/* Traces and fleets as files: the parsed values, and the place of errors. */
#include "simulate/files/names.h"
#include "simulate/trace.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/fleet/fleet.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,arrives_s,stays_s\n"

static struct clv_fleet *fleet_of(const char *text, struct clv_error *err)
{
	struct clv_fleet *fleet = clv_fleet_new();
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	if (clv_trace_read_fleet(file, "nodes.csv", fleet, err) < 0)
		fleet = clv_fleet_free(fleet);
	fclose(file);
	return fleet;
}

/* Reads all of a trace with a header of its own, and the rows that are wrong; both may be
 * NULL.  Returns the number of arrivals, or the error. */
static int read_headed(const char *text, const char *header, bool is_timed,
	struct clv_trace_skips *skips, struct clv_trace_item *ret_last,
	struct clv_error *err)
{
	FILE *head =
		header ? fmemopen((void *)(uintptr_t)header, strlen(header), "r") : NULL;
	struct clv_fleet *fleet =
		fleet_of(NODES "a,1000,1000,2,A\nb,1000,1000,8,B\n", err);
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	static struct clv_trace trace;
	int n = 0, r;

	assert_non_null(fleet);
	r = clv_trace_begin_headed(&trace, file, "pods.csv", head, fleet, err);
	trace.is_timed = is_timed;
	trace.skips = skips;
	while (r == 0 && (r = clv_trace_next(&trace, ret_last, err)) > 0) {
		n++;
		r = 0;
	}
	clv_trace_end(&trace);
	if (head)
		fclose(head);
	fclose(file);
	clv_fleet_free(fleet);
	return r < 0 ? r : n;
}

/* Reads all of a trace: returns the number of arrivals, or the error. */
static int read_all(const char *text, bool is_timed, struct clv_trace_item *ret_last,
	struct clv_error *err)
{
	return read_headed(text, NULL, is_timed, NULL, ret_last, err);
}

static void test_fleet(void **state)
{
	struct clv_error err = {0};
	struct clv_fleet *fleet =
		fleet_of("model,sn,extra,gpu,cpu_milli,memory_mib,gpu_mib\r\n"
			 "\"A,\"\"1\"\"\",n1,x,2,64000,1024,40960\r\n"
			 "\n"
			 "B,n2,,8,96000,2048,",
			&err);

	assert_non_null(fleet);
	assert_int_equal(fleet->n_nodes, 2);
	assert_int_equal(fleet->n_devices, 10);
	assert_string_equal(fleet->models[0], "A,\"1\"");
	assert_int_equal(fleet->devices[0].memory_mib, 40960);
	assert_int_equal(fleet->devices[2].memory_mib, 0);
	assert_int_equal(fleet->nodes[1].cpu_milli, 96000);
	clv_fleet_free(fleet);
}

static void test_wrong_fleets(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } rows[] = {
		{"", "nodes.csv:1:1: the file is empty"},
		{NODES, "nodes.csv:2:1: the fleet has no nodes"},
		{"sn,cpu_milli,gpu\n", "nodes.csv:1:1: the column 'memory_mib' is missing"},
		{"sn,sn,gpu\n", "nodes.csv:1:4: the column 'sn' appears twice"},
		{NODES "a,1,1,1,A\na,1,1,1,A\n", "nodes.csv:3:1: the name 'a' appears twice"},
		{NODES "a,-5,1,1,A\n", "nodes.csv:2:3: '-5' is less than 0"},
		{NODES "a,1,1x,1,A\n", "nodes.csv:2:5: '1x' is no whole number"},
		{NODES "a,1,99999999999999999999,1,A\n",
			"nodes.csv:2:5: '99999999999999999999' is more than 2147483647"},
		{NODES "a,1,1,65,A\n", "nodes.csv:2:7: a node has at most 64 devices"},
		{NODES "a,,1,1,A\n", "nodes.csv:2:3: 'cpu_milli' is empty"},
		{NODES "a,1\n", "nodes.csv:2:1: the row ends before its column 'memory_mib'"},
		{NODES "\"a,1\n", "nodes.csv:2:1: the quote is not closed"},
		{NODES "\"a\"b,1\n", "nodes.csv:2:4: a comma is expected between fields"},
	};
	/* clang-format on */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};

		/* fmemopen() cannot open an empty file. */
		assert_null(fleet_of(rows[i].text[0] ? rows[i].text : "\n", &err));
		if (rows[i].text[0])
			assert_string_equal(err.msg, rows[i].message);
	}
}

static void test_arrivals(void **state)
{
	struct clv_trace_item item;
	struct clv_error err = {0};

	assert_int_equal(
		read_all(PODS "p,500,10,1,460,A|Z,7,50\n", true, &item, &err), 1);
	assert_int_equal(item.request.models, 1);
	assert_int_equal(item.request.milli, 460);
	assert_int_equal(item.request.cpu_milli, 500);
	assert_int_equal(item.arrives_s, 7);
	assert_int_equal(item.stays_s, 50);
	assert_false(item.is_of_no_model);
	assert_int_equal(read_all(PODS "p,500,10,1,460,Y|Z,,\n", false, &item, &err), 1);
	assert_true(item.is_of_no_model);
	assert_true(item.stays_s == CLV_TRACE_FOREVER);
	/* Processors alone; more than a whole device of several becomes a whole one. */
	assert_int_equal(
		read_all(PODS "p,1,1,0,0,,,\nq,1,1,8,2000,,,\n", false, &item, &err), 2);
	assert_int_equal(item.request.milli, CLV_PLACE_WHOLE);
	assert_false(item.is_too_large);
	/* More devices than a node can have are no mistake of the file. */
	assert_int_equal(read_all(PODS "p,1,1,99,1000,,,\n", false, &item, &err), 1);
	assert_true(item.is_too_large);
}

static void test_wrong_traces(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } rows[] = {
		{"name,cpu_milli\n", "pods.csv:1:1: the column 'memory_mib' is missing"},
		{PODS "p,1,1,1,-1,,,\n", "pods.csv:2:9: '-1' is less than 0"},
		{PODS "p,1,1,2,0,,,\n", "pods.csv:2:7: 2 devices without a share or memory of them"},
		{PODS "p,1,1,1,1,,,\np,1,1,1,1,,,\n",
			"pods.csv:3:1: the name 'p' appears twice"},
		{PODS "p,1,1,1,1,,9,\nq,1,1,1,1,,8,\n",
			"pods.csv:3:12: it arrives before the one above: sort the file by arrival"},
		{"name,cpu_milli,memory_mib,num_gpu,gpu_milli,class\np,1,1,1,1,fast\n",
			"pods.csv:2:11: 'fast' is no class: latency, normal or batch"},
		{"name,cpu_milli,memory_mib,num_gpu,gpu_milli,rule\np,1,1,1,1,near\n",
			"pods.csv:2:11: 'near' is no rule: free, together, apart, spread or one-rack"},
		{"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
			"p,1,1,1,1,5,4\n", "pods.csv:2:13: it ends before it begins"},
	};
	/* clang-format on */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_trace_item item;
		struct clv_error err = {0};

		assert_int_equal(read_all(rows[i].text, true, &item, &err), -EINVAL);
		assert_string_equal(err.msg, rows[i].message);
	}
}

#define HELIOS                                                                           \
	"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time," \
	"duration,queue\n"
#define PAI_2020                                                                    \
	"job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem," \
	"plan_gpu,gpu_type\n"
#define PAI_2025                                                                       \
	"instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,"       \
	"rdma_request,rdma_limit,memory_request,memory_limit,disk_request,disk_limit," \
	"max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
#define PHILLY(more)                                                                     \
	"[{\"status\": \"Pass\", \"vc\": \"a\", \"jobid\": \"x\\\"}\",\n \"attempts\": " \
	"["                                                                              \
	"{\"start_time\": \"2017-10-07 01:12:09\", \"end_time\": \"2017-10-07 "          \
	"01:13:23\","                                                                    \
	" \"detail\": [{\"ip\": \"m1\", \"gpus\": [\"gpu0\"]}]}], "                      \
	"\"submitted_time\": \"2017-10-07 01:11:39\", \"user\": \"u\"}" more "]\n"

/* Rows as the traces are published: the last arrival of each. */
static void test_published_formats(void **state)
{
	/* clang-format off */
	static const struct {
		const char *text, *header;
		struct { uint32_t cpu_milli, memory_mib, n_devices, milli, n_alike; } want;
		int64_t arrives_s, stays_s;
	} rows[] = {
		{HELIOS "7,u,v,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,"
			"2020-06-09 18:45:36,249,0\n", NULL, {16000, 0, 4, 1000, 1}, 1591728087, 249},
		{HELIOS "7,u,v,16,20,3,COMPLETED,1970-01-01 00:00:09,,,1,0\n", NULL,
			{7000, 0, 6, 1000, 3}, 9, 1},
		{PAI_2020 "4f,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,A\n",
			NULL, {6000, 30000, 1, 500, 1}, 1739162, 38},
		{"4f,ps,2.0,Running,7.0,,600.0,1,,CPU\n", PAI_2020, {6000, 1024, 0, 0, 2}, 7,
			CLV_TRACE_FOREVER},
		{"4f,worker,,Running,7.0,8.5,nan,,150.0,\n", PAI_2020, {0, 0, 2, 1000, 1}, 7, 1},
		{PAI_2025 "instance_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,\n", NULL,
			{12000, 122880, 1, 1000, 1}, 0, CLV_TRACE_FOREVER},
		{PAI_2025 "i,CN,a,64,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,5.0,5.0,9.0\n", NULL,
			{64000, 327680, 0, 0, 1}, 5, 4},
		{PHILLY(""), NULL, {0, 0, 1, 1000, 1}, 1507338699, 74},
		{"\xef\xbb\xbf" PHILLY(""), NULL, {0, 0, 1, 1000, 1}, 1507338699, 74},
		{"\xef\xbb\xbfname,cpu_milli,memory_mib,num_gpu,gpu_milli\r\np,1,2,1,4\r\n", NULL,
			{1, 2, 1, 4, 1}, 0, CLV_TRACE_FOREVER},
	};
	/* clang-format on */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_trace_item item = {0};
		struct clv_error err = {0};
		int n = read_headed(
			rows[i].text, rows[i].header, true, NULL, &item, &err);

		if (n != 1)
			fail_msg("row %zu: %d %s", i, n, err.msg);
		assert_int_equal(item.request.cpu_milli, rows[i].want.cpu_milli);
		assert_int_equal(item.request.memory_mib, rows[i].want.memory_mib);
		assert_int_equal(item.request.n_devices, rows[i].want.n_devices);
		assert_int_equal(item.request.milli, rows[i].want.milli);
		assert_int_equal(item.n_alike, rows[i].want.n_alike);
		assert_int_equal(item.arrives_s, rows[i].arrives_s);
		assert_int_equal(item.stays_s, rows[i].stays_s);
		assert_false(item.is_of_no_model);
	}
}

/* A job on several machines is a gang; one without an attempt is left out, and so is one
 * that never started. */
static void test_philly_jobs(void **state)
{
	static const char text[] = PHILLY(
		",\n{\"attempts\": [], \"submitted_time\": \"2017-10-07 01:11:39\"},\n"
		"{\"attempts\": [{\"start_time\": null, \"end_time\": null, \"detail\": "
		"[{\"gpus\": [\"gpu0\"]}]}], \"submitted_time\": \"2017-10-07 "
		"01:11:39\"},\n"
		"{\"attempts\": [{\"start_time\": \"2017-10-07 01:12:09\", \"end_time\": "
		"\"None\","
		" \"detail\": [{\"gpus\": [\"gpu0\", \"gpu1\"]}, {\"gpus\": "
		"[\"gpu3\"]}]}],"
		" \"submitted_time\": \"2017-10-07 01:11:30\"}");
	struct clv_trace_skips skips = {.n_wrong = 0};
	struct clv_trace_item item;
	struct clv_error err = {0};

	assert_int_equal(read_headed(text, NULL, true, &skips, &item, &err), 3);
	assert_int_equal(skips.n_left_out, 2);
	assert_int_equal(item.request.n_devices, 1);
	assert_int_not_equal(item.gang, 0);
	assert_true(item.stays_s == CLV_TRACE_FOREVER);
}

static void test_wrong_rows_of_formats(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } rows[] = {
		{HELIOS "7,u,v,-4,16,1,F,2020-06-09 18:41:27,,,249,0\n", "pods.csv:2:7: '-4' is less than 0"},
		{HELIOS "7,u,v,4,16,1,F,2020-06-09T18:41:27,,,249,0\n",
			"pods.csv:2:16: '2020-06-09T18:41:27' is no time as 2020-06-09 18:41:01"},
		{HELIOS "7,u,v,4,16,1,F,2020-06-09 18:41:27,,,,0\n", "pods.csv:2:38: 'duration' is empty"},
		{PAI_2020 "4f,tf,1.0,Terminated,9.0,8.0,600.0,29.2,50.0,A\n",
			"pods.csv:2:26: it ends before it begins"},
		{PAI_2020 "4f,tf,1.0,Terminated,9.0,x,600.0,29.2,50.0,A\n", "pods.csv:2:26: 'x' is no number"},
		{PAI_2025 "i,CN,a,-1,64,0,0,1,1,320.0,320.0,255.0,300.0,-1,5.0,5.0,9.0\n",
			"pods.csv:2:8: '-1' is less than 0"},
		{"[\n{\"attempts\": [],\n \"user\": }]", "pods.csv:3:10: unexpected token near '}'"},
		{"[{\"attempts\": []}]", "pods.csv:1:1: 'submitted_time' is missing"},
		{"[{\"submitted_time\": \"soon\"}]",
			"pods.csv:1:1: 'soon' is no time as 2017-10-07 01:12:09"},
		{"[\n{\"attempts\": [", "pods.csv:2:1: the file ends within this job"},
		{"[7]", "pods.csv:1:1: a job is expected here, as {...}"},
	};
	/* clang-format on */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_trace_item item;
		struct clv_error err = {0};

		assert_int_equal(read_all(rows[i].text, true, &item, &err), -EINVAL);
		assert_string_equal(err.msg, rows[i].message);
	}
}

static void note_line(void *userdata, const struct clv_error *why)
{
	unsigned line = 0;

	assert_int_equal(sscanf(why->msg, "pods.csv:%u:", &line), 1);
	*(unsigned *)userdata += 1u << line;
}

/* Every kind of row that is wrong, between good ones. */
static void test_skipped_rows(void **state)
{
	static const char text[] = PODS "a,1,1,1,1,,5,\n"
					"b,1,1,1,-1,,6,\n"
					"c,1,1\n"
					"\"d,1,1,1,1,,6,\n"
					"e,1,1,2,0,,6,\n"
					"f,1,1,1,1,,4,\n"
					"a,1,1,1,1,,5,\n"
					"g,1,1,99,1,,5,\n";
	unsigned lines = 0;
	struct clv_trace_skips skips = {
		.is_on = true, .tell = note_line, .userdata = &lines};
	struct clv_trace_item item;
	struct clv_error err = {0};

	assert_int_equal(read_headed(text, NULL, true, &skips, &item, &err), 3);
	assert_int_equal(skips.n_wrong, 5);
	assert_int_equal(lines, 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7);
	assert_true(item.is_too_large);
	/* Jobs of Philly: the next one is found again. */
	lines = 0;
	skips.n_wrong = 0;
	assert_int_equal(read_headed(PHILLY(",\n{\"a\": },\n{\"submitted_time\": \"x\"}"),
				 NULL, true, &skips, &item, &err),
		1);
	assert_int_equal(skips.n_wrong, 2);
	assert_int_equal(lines, 1u << 3 | 1u << 4);
}

static void test_published_fleets(void **state)
{
	/* clang-format off */
	static const struct { const char *text; uint32_t cpu_milli, memory_mib, n_devices, device_mib; const char *model; } rows[] = {
		{"machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n82e5,T4,96,512,2\n", 96000, 524288, 2, 0, "T4"},
		{"machineId,number of GPUs, single GPU mem\nm31,8, 24GB\n", 0, 0, 8, 24576, "24GB"},
	};
	/* clang-format on */
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		struct clv_fleet *fleet = fleet_of(rows[i].text, &err);

		assert_non_null(fleet);
		assert_int_equal(fleet->nodes[0].cpu_milli, rows[i].cpu_milli);
		assert_int_equal(fleet->nodes[0].memory_mib, rows[i].memory_mib);
		assert_int_equal(fleet->nodes[0].n_devices, rows[i].n_devices);
		assert_int_equal(fleet->devices[0].memory_mib, rows[i].device_mib);
		assert_string_equal(fleet->models[0], rows[i].model);
		clv_fleet_free(fleet);
	}
}

/* One more than allowed. */
static void test_gang_rows(void **state)
{
	static char text[CLV_TRACE_GANG_MAX * 24 + 200];
	struct clv_trace_item item;
	struct clv_error err = {0};
	size_t used = (size_t)snprintf(
		text, sizeof(text), "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gang\n");

	for (unsigned i = 0; i < CLV_TRACE_GANG_MAX; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "p%u,1,1,1,1,3\n", i);
	assert_int_equal(read_all(text, false, &item, &err), CLV_TRACE_GANG_MAX);
	assert_int_equal(item.gang, 3);
	snprintf(text + used, sizeof(text) - used, "q,1,1,1,1,3\n");
	assert_int_equal(read_all(text, false, &item, &err), -EINVAL);
	assert_string_equal(
		err.msg, "pods.csv:1026:11: a gang has at most 1024 requests");
	snprintf(text + used, sizeof(text) - used, "q,1,1,1,1,4\n");
	assert_int_equal(read_all(text, false, &item, &err), CLV_TRACE_GANG_MAX + 1);
}

static void test_names(void **state)
{
	struct clv_names names = {0};
	char name[16];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "p%u", i * 7919 % 5000);
			assert_int_equal(clv_names_add(&names, name), round == 0);
		}
	}
	clv_names_done(&names);
}

/* Any number of rows takes a little more than four bytes each. */
static void test_repeats(void **state)
{
	enum { N = 1000000, TWICE = 424242 };
	struct clv_repeats repeats = {0};
	char name[24];

	for (unsigned i = 0; i <= N; i++) {
		snprintf(name, sizeof(name), "pod-%u", i < N ? i : TWICE);
		assert_int_equal(clv_repeats_add(&repeats, name), 0);
	}
	assert_true(clv_repeats_bytes(&repeats) < N * 13 / 2);
	assert_int_equal(clv_repeats_end_first_pass(&repeats), 1);
	assert_int_equal(repeats.n_suspects, 1);
	assert_true(clv_repeats_bytes(&repeats) < 100000);
	for (unsigned i = 0; i <= N; i++) {
		snprintf(name, sizeof(name), "pod-%u", i < N ? i : TWICE);
		assert_int_equal(clv_repeats_check_again(&repeats, name), i == N);
	}
	clv_repeats_done(&repeats);
}

/* A file that is there twice: each name of its second half is found. */
static void test_all_names_twice(void **state)
{
	enum { N = (1 << 20) + 1000 };
	struct clv_repeats repeats = {0};
	size_t n_found = 0;
	char name[24];

	(void)state;
	for (unsigned i = 0; i < 2 * N; i++) {
		snprintf(name, sizeof(name), "pod-%u", i % N);
		assert_int_equal(clv_repeats_add(&repeats, name), 0);
	}
	assert_int_equal(clv_repeats_end_first_pass(&repeats), 1);
	assert_int_equal(repeats.n_suspects, N);
	for (unsigned i = 0; i < 2 * N; i++) {
		int r;

		snprintf(name, sizeof(name), "pod-%u", i % N);
		r = clv_repeats_check_again(&repeats, name);
		assert_true(r == 0 || (r == 1 && i >= N));
		n_found += r == 1;
	}
	assert_int_equal(n_found, N);
	clv_repeats_done(&repeats);
}

/* The stored hashes of these two are equal. */
static void test_names_that_seem_the_same(void **state)
{
	struct clv_repeats repeats = {0};
	struct clv_trace_item item;
	struct clv_error err = {0};

	assert_int_equal(clv_repeats_add(&repeats, "pod-1362401"), 0);
	assert_int_equal(clv_repeats_add(&repeats, "pod-3836347"), 0);
	assert_int_equal(clv_repeats_end_first_pass(&repeats), 1);
	assert_int_equal(clv_repeats_check_again(&repeats, "pod-1362401"), 0);
	assert_int_equal(clv_repeats_check_again(&repeats, "pod-3836347"), 0);
	assert_int_equal(clv_repeats_check_again(&repeats, "pod-1362401"), 1);
	clv_repeats_done(&repeats);
	assert_int_equal(read_all(PODS "pod-1362401,1,1,1,1,,,\npod-3836347,1,1,1,1,,,\n",
				 false, &item, &err),
		2);
}

static void test_no_repeats(void **state)
{
	struct clv_repeats repeats = {0};
	char name[16];

	assert_int_equal(clv_repeats_end_first_pass(&repeats), 0);
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		assert_int_equal(clv_repeats_add(&repeats, name), 0);
	}
	assert_int_equal(clv_repeats_end_first_pass(&repeats), 0);
	clv_repeats_done(&repeats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fleet),
		cmocka_unit_test(test_wrong_fleets),
		cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_wrong_traces),
		cmocka_unit_test(test_published_formats),
		cmocka_unit_test(test_philly_jobs),
		cmocka_unit_test(test_wrong_rows_of_formats),
		cmocka_unit_test(test_skipped_rows),
		cmocka_unit_test(test_published_fleets),
		cmocka_unit_test(test_gang_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_all_names_twice),
		cmocka_unit_test(test_names_that_seem_the_same),
		cmocka_unit_test(test_no_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
