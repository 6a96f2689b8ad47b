/* SPDX-License-Identifier: Apache-2.0 */
/* Compose files read into services: each key, the three notations of a device, and each
 * mistake with its line and column. */
#include "service/service.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static const char *get(void *userdata, const char *name)
{
	if (strcmp(name, "TAG") == 0)
		return "7";
	return strcmp(name, "HOME") == 0 ? "/home/me" : NULL;
}

static const struct clv_variables variables = {.get = get};

static int read_text(const char *text, struct clv_services *ret, struct clv_error *err)
{
	struct clv_yaml *document;
	int r = clv_yaml_parse(text, strlen(text), "f", &document, err);

	return r < 0 ? r : clv_services_read(document, "test", &variables, ret, err);
}

static void must_read(const char *text, struct clv_services *ret)
{
	struct clv_error err = {0};

	if (read_text(text, ret, &err) < 0)
		fail_msg("%s", err.msg);
}

/* As the reference's documents have it: instance type, slices and profile at the top,
 * scaling and auto-stop at the service. */
#define REFERENCE                                         \
	"version: \"3.9\"\n"                              \
	"x-omnistrate-service-plan:\n"                    \
	"  name: 'GPU Slices'\n"                          \
	"  tenancyType: 'OMNISTRATE_MULTI_TENANCY'\n"     \
	"x-internal-integrations:\n"                      \
	"  multiTenantGpu:\n"                             \
	"    instanceType: 'g4dn.xlarge'\n"               \
	"    timeSlicingReplicas: 4\n"                    \
	"services:\n"                                     \
	"  gpuinfer:\n"                                   \
	"    image: docker.io/example/infer:1\n"          \
	"    ports:\n"                                    \
	"      - '8080:8080'\n"                           \
	"    platform: linux/amd64\n"                     \
	"    deploy:\n"                                   \
	"      resources:\n"                              \
	"        reservations:\n"                         \
	"          cpus: '0.1'\n"                         \
	"          memory: 100M\n"                        \
	"        limits:\n"                               \
	"          cpus: '2'\n"                           \
	"          memory: 4G\n"                          \
	"    x-omnistrate-capabilities:\n"                \
	"      autoscaling:\n"                            \
	"        maxReplicas: 5\n"                        \
	"        minReplicas: 1\n"                        \
	"        idleMinutesBeforeScalingDown: 2\n"       \
	"        idleThreshold: 20\n"                     \
	"        overUtilizedMinutesBeforeScalingUp: 3\n" \
	"        overUtilizedThreshold: 80\n"             \
	"      serverlessConfiguration:\n"                \
	"        targetPort: 8080\n"                      \
	"        enableAutoStop: true\n"                  \
	"        minimumNodesInPool: 0\n"

static void test_reference(void **state)
{
	struct clv_services services;
	const struct clv_service *service;
	const struct clv_service_scaling *scaling;

	must_read(REFERENCE, &services);
	assert_int_equal(services.n, 1);
	assert_int_equal(services.n_remarks, 0);
	service = &services.items[0];
	scaling = &service->scaling;
	assert_string_equal(service->name, "gpuinfer");
	assert_string_equal(service->image, "docker.io/example/infer:1");
	assert_string_equal(service->platform, "linux/amd64");
	assert_int_equal(service->n_ports, 1);
	assert_int_equal(service->ports[0].published, 8080);
	assert_true(service->device.is_given);
	assert_int_equal(service->device.share_ppm, CLV_PPM / 4);
	assert_string_equal(service->device.profile, "");
	assert_int_equal(service->limits.cpu_millis, 2000);
	assert_int_equal(service->limits.memory_bytes, 4096 * MIB);
	assert_int_equal(service->reservations.cpu_millis, 100);
	assert_int_equal(scaling->min_replicas, 1);
	assert_int_equal(scaling->max_replicas, 5);
	assert_int_equal(scaling->idle_ppm, 200000);
	assert_int_equal(scaling->over_ppm, 800000);
	assert_int_equal(scaling->idle_ns / CLV_NS_PER_S, 120);
	assert_int_equal(scaling->over_ns / CLV_NS_PER_S, 180);
	assert_true(scaling->stops);
	assert_int_equal(scaling->n_kept, 0);
	assert_int_equal(scaling->target_port, 8080);
	clv_services_clear(&services);
}

static void write_texts(FILE *to, const char *name, const struct clv_service_texts *texts)
{
	if (texts->n == 0)
		return;
	fprintf(to, " %s=", name);
	for (size_t i = 0; i < texts->n; i++)
		fprintf(to, "[%s]", texts->items[i]);
}

static void write_lists(FILE *to, const struct clv_service *s)
{
	for (size_t i = 0; i < s->n_variables; i++)
		fprintf(to, " $%s=%s", s->variables[i].name, s->variables[i].value);
	for (size_t i = 0; i < s->n_env_files; i++)
		fprintf(to, " env=%s%s", s->env_files[i].path,
			s->env_files[i].is_required ? "" : "?");
	for (size_t i = 0; i < s->n_ports; i++)
		fprintf(to, " port=%s:%u:%u%s",
			s->ports[i].host_ip ? s->ports[i].host_ip : "*",
			s->ports[i].published, s->ports[i].target,
			s->ports[i].is_http ? "" : "/tcp");
	for (size_t i = 0; i < s->n_volumes; i++)
		fprintf(to, " volume=%s%s:%s%s", s->volumes[i].is_path ? "path " : "",
			s->volumes[i].source ? s->volumes[i].source : "",
			s->volumes[i].target, s->volumes[i].is_read_only ? ":ro" : "");
	for (size_t i = 0; i < s->n_dependencies; i++)
		fprintf(to, " after=%s/%s", s->dependencies[i].name,
			clv_service_condition_to_string(s->dependencies[i].condition));
}

static void write_device(FILE *to, const struct clv_service_device *d)
{
	if (!d->is_given)
		return;
	fprintf(to, " device=%u", d->share_ppm);
	if (d->share_most_ppm)
		fprintf(to, "..%u", d->share_most_ppm);
	fprintf(to, ",%" PRIu64 ",%s,%s,%s,%s", d->memory_bytes / MIB, d->class_name,
		d->profile, d->isolation, d->device);
}

/* What differs from the defaults. */
static void write_service(FILE *to, const struct clv_service *s)
{
	fprintf(to, "%s %s", s->name, s->image);
	write_texts(to, "command", &s->command);
	write_texts(to, "entrypoint", &s->entrypoint);
	write_lists(to, s);
	write_texts(to, "test", &s->health.test);
	if (s->health.test.n)
		fprintf(to, " every=%" PRIu64 "ms/%" PRIu64 "ms/%" PRIu64 "ms/%u",
			s->health.interval_ns / CLV_NS_PER_MS,
			s->health.timeout_ns / CLV_NS_PER_MS,
			s->health.start_period_ns / CLV_NS_PER_MS, s->health.n_retries);
	if (s->restart != CLV_SERVICE_RESTART_ALWAYS)
		fprintf(to, " restart=%d/%u", s->restart, s->n_restarts);
	if (s->n_replicas != 1)
		fprintf(to, " replicas=%u", s->n_replicas);
	if (s->limits.memory_bytes || s->limits.cpu_millis || s->limits.n_pids)
		fprintf(to, " limits=%u,%" PRIu64 ",%u", s->limits.cpu_millis,
			s->limits.memory_bytes / MIB, s->limits.n_pids);
	if (s->user)
		fprintf(to, " user=%s", s->user);
	if (s->working_dir)
		fprintf(to, " in=%s", s->working_dir);
	if (s->has_init)
		fputs(" init", to);
	if (s->stops_first)
		fputs(" stop-first", to);
	write_device(to, &s->device);
}

#define S "services:\n  a:\n    image: i\n    "
static const struct {
	const char *file, *becomes;
} keys[] = {
	{S, "a i"},
	{"services: {a: {image: 'i:${TAG}'}}", "a i:7"},
	{S "command: run --flag 'two words' a\\ b \"c \\\" d\" ''\n",
		"a i command=[run][--flag][two words][a b][c \" d][]"},
	{S "command: [a, 'b c', 5]\n", "a i command=[a][b c][5]"},
	{S "command:\n    entrypoint: []\n", "a i"},
	{S "entrypoint: /bin/x y\n", "a i entrypoint=[/bin/x][y]"},
	{S "environment: {A: 1, B: 'x y', C: '', HOME: , NOT: }\n",
		"a i $A=1 $B=x y $C= $HOME=/home/me"},
	{S "environment: [A=1, B=x=y, C=, HOME, NOT, 'T=${TAG}']\n",
		"a i $A=1 $B=x=y $C= $HOME=/home/me $T=7"},
	{S "env_file: a.env\n", "a i env=a.env"},
	{S "env_file: [a.env, {path: /b, required: false}]\n", "a i env=a.env env=/b?"},
	{S "ports: ['8080:80', 90, '127.0.0.1:70:71/tcp', '[::1]:60:61']\n",
		"a i port=*:8080:80 port=*:90:90 port=127.0.0.1:70:71 "
		"port=::1:60:61"},
	{S "ports: [{target: 80, published: '8080', host_ip: 10.0.0.1, protocol: "
	   "tcp, app_protocol: tcp, mode: host}, {target: 81}]\n",
		"a i port=10.0.0.1:8080:80/tcp port=*:81:81"},
	{S "volumes: ['./x:/y', '/a:/b:ro', 'v:/c:rw', /d]\nvolumes: {v: }\n",
		"a i volume=path ./x:/y volume=path /a:/b:ro volume=v:/c "
		"volume=:/d"},
	{"volumes: {v: {}}\n" S "volumes: [{type: volume, source: v, target: /c}, "
	 "{type: bind, source: rel, target: /d, read_only: true}]\n",
		"a i volume=v:/c volume=path rel:/d:ro"},
	{S "healthcheck: {test: curl -f x}\n",
		"a i test=[/bin/sh][-c][curl -f x] every=30000ms/30000ms/0ms/3"},
	{S "healthcheck: {test: [CMD, a, b], interval: 1m30s, timeout: 500ms, "
	   "start_period: 2s, retries: 5}\n",
		"a i test=[a][b] every=90000ms/500ms/2000ms/5"},
	{S "healthcheck: {test: [CMD-SHELL, a b]}\n",
		"a i test=[/bin/sh][-c][a b] every=30000ms/30000ms/0ms/3"},
	{S "healthcheck: {test: [NONE]}\n", "a i"},
	{S "healthcheck: {disable: true, test: x}\n", "a i"},
	{S "restart: 'no'\n", "a i restart=2/0"},
	{S "restart: on-failure:3\n", "a i restart=1/3"},
	{S "restart: unless-stopped\n", "a i"},
	{S "deploy: {replicas: 3, mode: replicated}\n", "a i replicas=3"},
	{S "deploy: {replicas: 0}\n", "a i replicas=0"},
	{S "deploy: {resources: {limits: {cpus: '0.25', memory: 64m, pids: "
	   "9}}}\n",
		"a i limits=250,64,9"},
	{S "deploy: {restart_policy: {condition: on-failure, max_attempts: 2}, "
	   "update_config: {order: stop-first, parallelism: 1}}\n",
		"a i restart=1/2 stop-first"},
	{S "user: '1000:1000'\n    working_dir: /w\n    init: true\n",
		"a i user=1000:1000 in=/w init"},
	{S "x-cleave: {share: 0.25}\n", "a i device=250000,0,,,,"},
	{S "x-cleave: {share: 0.1..0.6, memory: 8G, class: latency, isolation: "
	   "hardware, device: gpu1}\n",
		"a i device=100000..600000,8192,latency,,hardware,gpu1"},
	{S "x-cleave: {profile: 1g.10gb}\n", "a i device=0,0,,1g.10gb,,"},
	{S "deploy: {resources: {reservations: {devices: [{driver: cleave, "
	   "count: 1, capabilities: [gpu], options: {share: 30%, class: "
	   "batch}}]}}}"
	   "\n",
		"a i device=300000,0,batch,,,"},
	{S "x-internal-integrations: {multiTenantGpu: {instanceType: "
	   "p4d.24xlarge, "
	   "timeSlicingReplicas: 2, migProfile: 3g.20gb}}\n",
		"a i device=500000,0,,3g.20gb,,"},
	{"x-internal-integrations: {multiTenantGpu: {instanceType: g5.xlarge, "
	 "timeSlicingReplicas: 5}, other: 1}\nservices: {a: {image: i}, b: "
	 "{image: j, "
	 "x-cleave: {share: 1}}, c: {image: k, x-cleave: none}}\n",
		"a i device=200000,0,,,,;b j device=1000000,0,,,,;c k"},
	{"services: {a: {image: i, depends_on: [b]}, b: {image: j, depends_on: "
	 "{c: "
	 "{condition: service_healthy}, no: {required: false}}}, c: {image: "
	 "k}}\n",
		"a i after=b/service_started;b j after=c/service_healthy;c k"},
	{S "networks: [default]\n    expose: [80]\n    labels: {a: b}\n    "
	   "x-mine: 1\n",
		"a i"},
};

static void test_keys(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys); i++) {
		struct clv_services services;
		char text[1024] = "";
		FILE *to = fmemopen(text, sizeof(text), "w");

		assert_non_null(to);
		must_read(keys[i].file, &services);
		for (size_t j = 0; j < services.n; j++) {
			fputs(j ? ";" : "", to);
			write_service(to, &services.items[j]);
		}
		fclose(to);
		if (strcmp(text, keys[i].becomes) != 0)
			fail_msg("%s\nbecomes %s\nnot     %s", keys[i].file, text,
				keys[i].becomes);
		clv_services_clear(&services);
	}
}

#define SCALED(text) S "x-omnistrate-capabilities: {" text "}\n"
static const struct {
	const char *file, *says;
} mistakes[] = {
	{"a: 1\n", "f:1:1: unknown key 'a'"},
	{"version: '3'\n", "f:1:1: the key 'services' is missing"},
	{"services: {}\n", "f:1:11: names of services are expected"},
	{"services: {'a b': {image: i}}\n", "f:1:12: 'a b' is no name"},
	{"services: {a: {}}\n", "f:1:15: the key 'image' is missing"},
	{"services: {a: {image: ''}}\n", "f:1:23: '' is no image"},
	{"services: {a: {image: '-i'}}\n", "f:1:23: '-i' is no image"},
	{"name: Big\nservices: {a: {image: i}}\n", "f:1:7: 'Big' is no name"},
	{S "imag: j\n", "f:4:5: unknown key 'imag': did you mean 'image'?"},
	{S "build: .\n", "f:4:5: build is not supported: build the image with"},
	{S "privileged: true\n", "f:4:5: privileged is not supported"},
	{S "<<: {user: x}\n", "f:4:5: << is not supported"},
	{"include: [x]\n" S, "f:1:1: include is not supported"},
	{S "command: 'a \"b'\n", "f:4:14: a quote in it is not closed"},
	{S "command: {a: b}\n", "f:4:14: a text or a list of texts"},
	{S "environment: A=1\n", "f:4:18: variables are expected"},
	{S "environment: ['=x']\n", "f:4:19: '' is no name of a variable"},
	{S "environment: {A: [1]}\n", "f:4:22: a text is expected"},
	{S "ports: ['80:x']\n", "f:4:13: '80:x' is no port"},
	{S "ports: ['3000-3001:80']\n", "ranges are not supported"},
	{S "ports: ['70000']\n", "is no port"},
	{S "ports: ['0']\n", "is no port"},
	{S "ports: ['53:53/udp']\n", "f:4:13: UDP is not supported"},
	{S "ports: ['a b:80:80']\n", "is no port"},
	{S "ports: ['80:80', '80:81']\n", "f:4:22: port 80 is published twice"},
	{"services: {a: {image: i, ports: ['80:1']}, b: {image: i, ports: "
	 "[80]}}\n",
		"f:1:44: port 80 is published by two services"},
	{S "volumes: ['v:/c']\n", "the volume 'v' is not in the file's `volumes`"},
	{S "volumes: ['./v:c']\n", "f:4:15: './v:c' is no volume"},
	{S "volumes: ['./v:/c:x']\n", "is no volume"},
	{"volumes: {v: {driver: nfs}}\n" S, "f:1:11: settings of volumes are not"},
	{S "depends_on: [b]\n", "f:4:18: there is no service 'b'"},
	{S "depends_on: [a]\n", "f:4:18: a depends on itself"},
	{"services: {a: {image: i, depends_on: [b]}, b: {image: i, depends_on: "
	 "[a]}}",
		"f:1:12: a depends on services that depend on it"},
	{S "depends_on: {a: {condition: up}}\n", "is none of service_started"},
	{S "healthcheck: {test: [curl]}\n", "f:4:25: a test is a text, or a list"},
	{S "healthcheck: {interval: 5}\n", "'5' is no duration"},
	{S "healthcheck: {interval: 0s}\n", "longer than 0"},
	{S "healthcheck: {interval: 99999h}\n", "is too long"},
	{S "restart: sometimes\n", "f:4:14: 'sometimes' is none of no, always"},
	{S "restart: on-failure:x\n", "'on-failure:x' is none of"},
	{S "deploy: {mode: global}\n", "f:4:20: the mode 'global'"},
	{S "deploy: {placement: {}}\n", "f:4:14: placement is not supported"},
	{S "deploy: {replicas: 65}\n", "from 0 to 64"},
	{S "deploy: {resources: {limits: {cpus: many}}}\n", "no number of processors"},
	{S "deploy: {resources: {limits: {memory: 1x}}}\n", "no amount of memory"},
	{S "deploy: {resources: {limits: {devices: []}}}\n", "devices are reserved"},
	{S "deploy: {resources: {reservations: {devices: [{driver: nvidia, "
	   "options: "
	   "{}}]}}}\n",
		"f:4:60: the driver 'nvidia' is not supported"},
	{S "x-cleave: {share: 2}\n", "f:4:23: "},
	{S "x-cleave: {shares: 2}\n", "did you mean 'share'?"},
	{S "x-cleave: {class: fast}\n", "'fast' is none of latency"},
	{S "x-cleave: {class: batch}\n", "f:4:15: how much of a device is missing"},
	{S "x-cleave: {share: 0.1}\n    x-internal-integrations: "
	   "{multiTenantGpu: "
	   "{instanceType: g5.xlarge, timeSlicingReplicas: 2}}\n",
		"is given twice"},
	{S "x-internal-integrations: {multiTenantGpu: {instanceType: x}}\n",
		"neither shared nor divided"},
	{SCALED("autoscaling: {minReplicas: 3}"), "'maxReplicas' is missing"},
	{SCALED("autoscaling: {minReplicas: 3, maxReplicas: 2}"),
		"f:4:46: minReplicas is 3, above maxReplicas, which is 2"},
	{SCALED("autoscaling: {maxReplicas: 2, idleThreshold: 90}"),
		"idleThreshold is 90, and has to be below overUtilizedThreshold, "
		"which is 80"},
	{SCALED("autoscaling: {maxReplicas: 2, idleThreshold: 101}"), "from 1 to 100"},
	{SCALED("autoscaling: {maxReplica: 2}"), "did you mean 'maxReplicas'?"},
	{SCALED("serverlessConfiguration: {enableAutoStop: true}"),
		"f:2:3: enableAutoStop needs a port"},
	{SCALED("serverlessConfiguration: {enableAutoStop: maybe}"), "neither on"},
	{SCALED("serverlessConfiguration: {x-cleave-sleep: frozen}"),
		"add enableAutoStop"},
	{SCALED("serverlessConfiguration: {x-cleave-sleep: warm}"), "stopped"},
	{S "ports: [80]\n    x-omnistrate-capabilities: {serverlessConfiguration: "
	   "{enableAutoStop: true, x-cleave-sleep-memory: shrink}}\n",
		"add x-cleave-sleep: frozen"},
	{S "ports: [80]\n    x-omnistrate-capabilities: "
	   "{serverlessConfiguration: "
	   "{enableAutoStop: true, targetPort: 81}}\n",
		"targetPort 81 is not in `ports`"},
	{"services: {a: {image: '${NOT:?say which}'}}\n",
		"f:1:23: the variable NOT is not set: say which"},
	{"services: {a: {image: 'a$'}}\n", "f:1:23: '$' is no variable"},
	{S "networks: [other]\n", "f:4:15: networks of their own"},
};

static void test_sleep(void **state)
{
	struct clv_services services;

	must_read(REFERENCE, &services);
	assert_int_equal(services.items[0].scaling.sleep, CLV_SERVICE_SLEEP_STOPPED);
	clv_services_clear(&services);
	must_read(REFERENCE "        x-cleave-sleep: frozen\n"
			    "        x-cleave-sleep-memory: shrink\n",
		&services);
	assert_int_equal(services.items[0].scaling.sleep, CLV_SERVICE_SLEEP_FROZEN);
	assert_true(services.items[0].scaling.shrinks);
	clv_services_clear(&services);
}

static void test_mistakes(void **state)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(mistakes); i++) {
		struct clv_services services;
		struct clv_error err = {0};
		int r = read_text(mistakes[i].file, &services, &err);

		if (r >= 0 || !strstr(err.msg, mistakes[i].says))
			fail_msg("%s\nsays %s\nnot  %s", mistakes[i].file,
				r < 0 ? err.msg : "nothing", mistakes[i].says);
		assert_int_equal(err.code, r);
		assert_null(services.items);
		assert_true(read_text(mistakes[i].file, &services, NULL) < 0);
	}
}

static void test_remarks(void **state)
{
	struct clv_services services;

	must_read(S "container_name: x\n    user: '$NOT'\n", &services);
	assert_int_equal(services.n_remarks, 2);
	assert_string_equal(services.remarks[0].text,
		"f:5:11: the variable NOT is not set: it is an empty text here");
	assert_non_null(
		strstr(services.remarks[1].text, "f:4:21: container_name has no effect"));
	clv_services_clear(&services);
}

static void test_order(void **state)
{
	struct clv_services services;

	must_read("services:\n"
		  "  web: {image: i, depends_on: [cache, model]}\n"
		  "  model: {image: i, depends_on: [cache]}\n"
		  "  cache: {image: i}\n",
		&services);
	assert_int_equal(services.order[0], 2);
	assert_int_equal(services.order[1], 1);
	assert_int_equal(services.order[2], 0);
	assert_ptr_equal(clv_services_find(&services, "cache"), &services.items[2]);
	assert_null(clv_services_find(&services, "other"));
	clv_services_clear(&services);
}

/* What makes another container makes another generation; what does not, does not. */
static void test_generations(void **state)
{
	static const struct {
		const char *file;
		bool is_other;
	} cases[] = {
		{S "command: [a]\n", false},
		{S "command: a\n", false},
		{S "command: [a]\n    deploy: {replicas: 2}\n", false},
		{S "command: [a]\n    restart: 'no'\n", false},
		{S "command: [a, '']\n", true},
		{S "command: [b]\n", true},
		{S "entrypoint: [a]\n", true},
		{S "command: [a]\n    environment: {A: 1}\n", true},
		{S "command: [a]\n    x-cleave: {share: 0.1}\n", true},
		{S "command: [a]\n    user: root\n", true},
		{S "command: [a]\n    volumes: [/a]\n", true},
	};
	uint64_t first = 0;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_services services;

		must_read(cases[i].file, &services);
		if (i == 0)
			first = services.items[0].generation;
		if ((services.items[0].generation != first) != cases[i].is_other)
			fail_msg("%s", cases[i].file);
		clv_services_clear(&services);
	}
}

static void test_project_names(void **state)
{
	char name[CLV_SERVICE_NAME_MAX];

	assert_true(clv_service_project_name("My App.2", name));
	assert_string_equal(name, "myapp2");
	assert_true(clv_service_project_name("-_a-b_c", name));
	assert_string_equal(name, "a-b_c");
	assert_false(clv_service_project_name("--", name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_project_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
