/* SPDX-License-Identifier: Apache-2.0 */
/* Services as objects of Kubernetes: pods, their ports and volumes.  What scales them is
 * in scaling.c. */
#include "service/kubernetes/objects.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/units.h"
#include "service/internal.h"
#include "service/kubernetes/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define PPM_OF_A_HUNDREDTH 10000u

/* --- The device --- */

/* "1g.10gb+me" is mig-1g.10gb.me, "CPX/NPS4" cpx-nps4, "vf:4" vf-4. */
static void name_profile(const char *profile, char ret[80])
{
	size_t n = 0;

	n = (size_t)snprintf(
		ret, 80, "cleave.dev/%s", isdigit((unsigned char)*profile) ? "mig-" : "");
	for (; *profile && n < 79; profile++)
		ret[n++] = *profile == '+' ? '.'
			   : strchr("/:", *profile)
				   ? '-'
				   : (char)tolower((unsigned char)*profile);
	ret[n] = '\0';
}

static int set_share(
	const struct clv_service *service, json_t *amounts, struct clv_error *err)
{
	const struct clv_service_device *device = &service->device;
	uint32_t n = (device->share_ppm + PPM_OF_A_HUNDREDTH - 1) / PPM_OF_A_HUNDREDTH;
	char text[16];
	int r = 0;

	if (device->share_ppm % PPM_OF_A_HUNDREDTH)
		r = clv_service_remark(service->file, service->place, err,
			"Kubernetes counts hundredths of a device: the share is %u of "
			"them",
			n);
	if (r >= 0 && device->share_most_ppm)
		r = clv_service_remark(service->file, service->place, err,
			"a share of Kubernetes is no range: it is the lower bound");
	snprintf(text, sizeof(text), "%u", n);
	json_object_set_new(amounts, "cleave.dev/gpu-share", json_string(text));
	return r;
}

static void set_memory(const struct clv_service_device *device, json_t *amounts)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, (device->memory_bytes + MIB - 1) / MIB);
	json_object_set_new(amounts, "cleave.dev/gpu-memory", json_string(text));
}

static int set_device(
	const struct clv_service *service, json_t *amounts, struct clv_error *err)
{
	const struct clv_service_device *device = &service->device;
	char name[80];
	int r = 0;

	if (!device->is_given)
		return 0;
	if (device->profile[0]) {
		name_profile(device->profile, name);
		json_object_set_new(amounts, name, json_string("1"));
		if (device->share_ppm || device->memory_bytes)
			r = clv_service_remark(service->file, service->place, err,
				"Kubernetes gives partitions as a whole: this is a %s "
				"without a share of it",
				device->profile);
		return r;
	}
	if (device->share_ppm)
		r = set_share(service, amounts, err);
	if (device->memory_bytes)
		set_memory(device, amounts);
	if (r >= 0 && device->share_ppm && device->memory_bytes)
		r = clv_service_remark(service->file, service->place, err,
			"share and memory together need nodes with `undivided: both`");
	if (r >= 0 && (device->device[0] || device->isolation[0]))
		r = clv_service_remark(service->file, service->place, err,
			"device and isolation have no effect in Kubernetes: select "
			"nodes, or "
			"set a profile");
	return r;
}

/* --- Containers --- */

static void set_amounts(json_t *amounts, const struct clv_service_limits *limits)
{
	char text[32];

	if (limits->cpu_millis) {
		snprintf(text, sizeof(text), "%um", limits->cpu_millis);
		json_object_set_new(amounts, "cpu", json_string(text));
	}
	if (limits->memory_bytes) {
		snprintf(text, sizeof(text), "%" PRIu64, limits->memory_bytes);
		json_object_set_new(amounts, "memory", json_string(text));
	}
}

/* Takes a list or an object that belongs into another one, unless it is empty. */
static void set_filled(json_t *to, const char *key, json_t *value)
{
	if (json_array_size(value) + json_object_size(value) > 0)
		json_object_set(to, key, value);
	json_decref(value);
}

static int set_resources(
	json_t *container, const struct clv_service *service, struct clv_error *err)
{
	json_t *limits = json_object(), *requests = json_object();
	json_t *resources = json_object();
	int r;

	set_amounts(limits, &service->limits);
	set_amounts(requests, &service->reservations);
	r = set_device(service, limits, err);
	set_filled(resources, "limits", limits);
	set_filled(resources, "requests", requests);
	set_filled(container, "resources", resources);
	return r;
}

static json_t *texts_of(const struct clv_service_texts *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(array, json_string(texts->items[i]));
	return array;
}

/* A copy in which "$(" is "$$(": Kubernetes replaces $(NAME).  The caller frees it. */
static char *escape(const char *text)
{
	char *made = malloc(2 * strlen(text) + 1), *to = made;

	for (; made && *text; text++) {
		if (text[0] == '$' && text[1] == '(')
			*to++ = '$';
		*to++ = *text;
	}
	if (made)
		*to = '\0';
	return made;
}

static json_t *words_of(const struct clv_service_texts *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < texts->n; i++) {
		char *escaped = escape(texts->items[i]);

		json_array_append_new(array, json_string(escaped));
		free(escaped);
	}
	return array;
}

static void set_environment(json_t *container, const struct clv_service *service)
{
	json_t *env = json_array();

	for (size_t i = 0; i < service->n_variables; i++) {
		char *escaped = escape(service->variables[i].value);

		json_array_append_new(
			env, json_pack("{s:s, s:s*}", "name", service->variables[i].name,
				     "value", escaped));
		free(escaped);
	}
	set_filled(container, "env", env);
}

static int set_env_files(
	json_t *container, const struct clv_service *service, struct clv_error *err)
{
	json_t *from = json_array();
	int r = 0;

	for (size_t i = 0; i < service->n_env_files && r >= 0; i++) {
		char name[CLV_KUBE_NAME_MAX + 16], of[CLV_KUBE_NAME_MAX];

		clv_kube_name(service->name, of);
		snprintf(name, sizeof(name), "%s-env-%zu", of, i);
		json_array_append_new(
			from, json_pack("{s:{s:s, s:b}}", "configMapRef", "name", name,
				      "optional", !service->env_files[i].is_required));
		r = clv_service_remark(service->file, service->place, err,
			"create the variables with kubectl create configmap %s "
			"--from-env-file=%.200s",
			name, service->env_files[i].path);
	}
	set_filled(container, "envFrom", from);
	return r;
}

static json_t *seconds_of(uint64_t ns)
{
	uint64_t s = (ns + CLV_NS_PER_S - 1) / CLV_NS_PER_S;

	return json_integer((json_int_t)(s > 0 ? s : 1));
}

static void set_times(json_t *probe, const struct clv_service_health *health)
{
	json_object_set_new(probe, "periodSeconds", seconds_of(health->interval_ns));
	json_object_set_new(probe, "timeoutSeconds", seconds_of(health->timeout_ns));
	json_object_set_new(
		probe, "failureThreshold", json_integer((json_int_t)health->n_retries));
}

/* Without a test, a port that accepts connections is ready. */
static void set_probes(json_t *container, const struct clv_service *service)
{
	const struct clv_service_health *health = &service->health;
	json_t *probe;

	if (health->test.n == 0) {
		if (service->n_ports == 0)
			return;
		json_object_set_new(container, "readinessProbe",
			json_pack("{s:{s:i}, s:i}", "tcpSocket", "port",
				(int)service->ports[0].target, "periodSeconds", 1));
		return;
	}
	probe = json_pack("{s:{s:o}}", "exec", "command", texts_of(&health->test));
	set_times(probe, health);
	json_object_set(container, "readinessProbe", probe);
	if (health->start_period_ns) {
		json_t *start = json_deep_copy(probe);

		/* A start may take start_period, and then the retries. */
		json_object_set_new(start, "failureThreshold",
			json_integer((json_int_t)(health->start_period_ns /
							  health->interval_ns +
						  health->n_retries)));
		json_object_set_new(container, "startupProbe", start);
	}
	json_object_set_new(container, "livenessProbe", probe);
}

static void set_ports(json_t *container, const struct clv_service *service)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < service->n_ports; i++)
		json_array_append_new(ports, json_pack("{s:i}", "containerPort",
						     (int)service->ports[i].target));
	set_filled(container, "ports", ports);
}

/* A user by name is the image's: Kubernetes takes numbers only. */
static int set_user(
	json_t *container, const struct clv_service *service, struct clv_error *err)
{
	json_t *context;
	char *end;
	unsigned long user, group;

	if (!service->user)
		return 0;
	user = strtoul(service->user, &end, 10);
	if (!isdigit((unsigned char)service->user[0]) || (*end && *end != ':'))
		return clv_service_remark(service->file, service->place, err,
			"Kubernetes takes users as numbers: '%.40s' is left out",
			service->user);
	context = json_pack("{s:I}", "runAsUser", (json_int_t)user);
	group = *end ? strtoul(end + 1, &end, 10) : 0;
	if (group && !*end)
		json_object_set_new(
			context, "runAsGroup", json_integer((json_int_t)group));
	json_object_set_new(container, "securityContext", context);
	return 0;
}

/* --- Volumes --- */

static json_t *source_of(const struct clv_service_volume *volume)
{
	char name[CLV_KUBE_NAME_MAX];

	if (!volume->source)
		return json_pack("{s:{}}", "emptyDir");
	if (volume->is_path)
		return json_pack("{s:{s:s}}", "hostPath", "path", volume->source);
	clv_kube_name(volume->source, name);
	return json_pack("{s:{s:s}}", "persistentVolumeClaim", "claimName", name);
}

static json_t *mount_of(const struct clv_service_volume *volume, const char *name)
{
	json_t *mount =
		json_pack("{s:s, s:s}", "name", name, "mountPath", volume->target);

	if (volume->is_read_only)
		json_object_set_new(mount, "readOnly", json_true());
	return mount;
}

static int set_volumes(json_t *pod, json_t *container, const struct clv_service *service,
	struct clv_error *err)
{
	json_t *volumes = json_array(), *mounts = json_array();
	int r = 0;

	for (size_t i = 0; i < service->n_volumes && r >= 0; i++) {
		const struct clv_service_volume *volume = &service->volumes[i];
		json_t *source = source_of(volume);
		char name[32];

		if (volume->is_path && volume->source[0] != '/')
			r = clv_yaml_fail(service->place, err, -EINVAL,
				"nodes have no folder %.100s beside this file: write an "
				"absolute path, or a named volume",
				volume->source);

		snprintf(name, sizeof(name), "volume-%zu", i);
		json_object_set_new(source, "name", json_string(name));
		json_array_append_new(volumes, source);
		json_array_append_new(mounts, mount_of(volume, name));
		if (r >= 0 && volume->is_path)
			r = clv_service_remark(service->file, service->place, err,
				"%.100s is a folder of the node: each node has its own",
				volume->source);
	}
	set_filled(pod, "volumes", volumes);
	set_filled(container, "volumeMounts", mounts);
	return r;
}

/* --- Pods --- */

static int set_rest(
	json_t *container, const struct clv_service *service, struct clv_error *err)
{
	int r = 0;

	if (service->working_dir)
		json_object_set_new(
			container, "workingDir", json_string(service->working_dir));
	if (service->stop_signal)
		r = clv_service_remark(service->file, service->place, err,
			"stop_signal is the image's in Kubernetes");
	if (r >= 0 && service->n_dependencies)
		r = clv_service_remark(service->file, service->place, err,
			"Kubernetes starts all services at once: %s has to try again "
			"while "
			"those that it depends on start",
			service->name);
	return r;
}

static int make_pod(
	const struct clv_service *service, json_t **ret, struct clv_error *err)
{
	json_t *container = json_pack("{s:o, s:s}", "name", clv_kube_name_json(service),
		"image", service->image);
	json_t *pod = json_pack("{s:[O], s:I}", "containers", container,
		"terminationGracePeriodSeconds",
		(json_int_t)(service->stop_grace_ns / CLV_NS_PER_S));
	int r;

	if (service->has_entrypoint)
		json_object_set_new(container, "command", words_of(&service->entrypoint));
	if (service->has_command)
		json_object_set_new(container, "args", words_of(&service->command));
	set_environment(container, service);
	set_ports(container, service);
	set_probes(container, service);
	r = set_env_files(container, service, err);
	if (r >= 0)
		r = set_resources(container, service, err);
	if (r >= 0)
		r = set_user(container, service, err);
	if (r >= 0)
		r = set_volumes(pod, container, service, err);
	if (r >= 0)
		r = set_rest(container, service, err);
	json_decref(container);
	*ret = pod;
	return r;
}

static json_t *labels_of(const struct clv_service *service)
{
	return json_pack("{s:o, s:s}", "app.kubernetes.io/name",
		clv_kube_name_json(service), "app.kubernetes.io/part-of",
		service->file->project);
}

static json_t *make_template(const struct clv_service *service, json_t *pod)
{
	json_t *template = json_pack(
		"{s:{s:o}, s:o}", "metadata", "labels", labels_of(service), "spec", pod);

	if (service->device.class_name[0])
		json_object_set_new(json_object_get(template, "metadata"), "annotations",
			json_pack(
				"{s:s}", "cleave.dev/class", service->device.class_name));
	return template;
}

static json_t *make_deployment(const struct clv_service *service, json_t *template)
{
	char name[CLV_KUBE_NAME_MAX];
	bool stops_first = service->stops_first;
	json_t *made, *spec;

	clv_kube_name(service->name, name);
	made = clv_kube_object("apps/v1", "Deployment", name, service);
	spec = json_pack("{s:{s:o}, s:{s:s, s:{s:i, s:i}}, s:o}", "selector",
		"matchLabels", labels_of(service), "strategy", "type", "RollingUpdate",
		"rollingUpdate", "maxSurge", stops_first ? 0 : 1, "maxUnavailable",
		stops_first ? 1 : 0, "template", template);
	/* An autoscaler's number would be overwritten by each kubectl apply. */
	if (!service->autoscaling.yaml && !service->scaling.stops)
		json_object_set_new(
			spec, "replicas", json_integer((json_int_t)service->n_replicas));
	json_object_set_new(made, "spec", spec);
	return made;
}

static json_t *make_job(const struct clv_service *service, json_t *template)
{
	bool fails = service->restart == CLV_SERVICE_RESTART_ON_FAILURE;
	char name[CLV_KUBE_NAME_MAX];
	json_t *made;

	clv_kube_name(service->name, name);
	made = clv_kube_object("batch/v1", "Job", name, service);
	json_object_set_new(json_object_get(template, "spec"), "restartPolicy",
		json_string(fails ? "OnFailure" : "Never"));
	json_object_set_new(made, "spec",
		json_pack("{s:o, s:i, s:i, s:i}", "template", template, "backoffLimit",
			fails ? (int)(service->n_restarts ? service->n_restarts : 6) : 0,
			"completions", (int)service->n_replicas, "parallelism",
			(int)service->n_replicas));
	return made;
}

static json_t *make_service(const struct clv_service *service)
{
	char name[CLV_KUBE_NAME_MAX];
	json_t *made, *ports = json_array();

	clv_kube_name(service->name, name);
	made = clv_kube_object("v1", "Service", name, service);
	for (size_t i = 0; i < service->n_ports; i++) {
		char port[16];

		snprintf(port, sizeof(port), "port-%u", service->ports[i].published);
		json_array_append_new(
			ports, json_pack("{s:s, s:i, s:i}", "name", port, "port",
				       (int)service->ports[i].published, "targetPort",
				       (int)service->ports[i].target));
	}
	json_object_set_new(made, "spec",
		json_pack("{s:o, s:o}", "selector", labels_of(service), "ports", ports));
	return made;
}

static json_t *make_claim(const struct clv_services *services, const char *volume)
{
	const struct clv_service of = {.file = (struct clv_services *)services};
	char name[CLV_KUBE_NAME_MAX];
	json_t *made;

	clv_kube_name(volume, name);
	made = clv_kube_object("v1", "PersistentVolumeClaim", name, &of);
	json_object_set_new(made, "spec",
		json_pack("{s:[s], s:{s:{s:s}}}", "accessModes", "ReadWriteMany",
			"resources", "requests", "storage", "10Gi"));
	return made;
}

static int add_service(
	json_t *to, const struct clv_service *service, struct clv_error *err)
{
	bool is_job = service->restart != CLV_SERVICE_RESTART_ALWAYS;
	json_t *pod, *template;
	int r = make_pod(service, &pod, err);

	template = make_template(service, pod);
	json_array_append_new(to, is_job ? make_job(service, template)
					 : make_deployment(service, template));
	if (service->n_ports)
		json_array_append_new(to, make_service(service));
	return r < 0 || is_job ? r : clv_kube_add_scaling(to, service, err);
}

/* Two names of Compose can be one of Kubernetes. */
static int check_names(const struct clv_services *services, struct clv_error *err)
{
	char a[CLV_KUBE_NAME_MAX], b[CLV_KUBE_NAME_MAX];

	for (size_t i = 0; i < services->n; i++) {
		clv_kube_name(services->items[i].name, a);
		if (!isalpha((unsigned char)a[0]))
			return clv_yaml_fail(services->items[i].place, err, -EINVAL,
				"a service of Kubernetes begins with a letter: rename "
				"'%s'",
				services->items[i].name);
		for (size_t j = 0; j < i; j++) {
			clv_kube_name(services->items[j].name, b);
			if (strcmp(a, b) == 0)
				return clv_yaml_fail(services->items[i].place, err,
					-EINVAL,
					"%s and %s have one name in Kubernetes, %s: "
					"rename one",
					services->items[j].name, services->items[i].name,
					a);
		}
	}
	return 0;
}

int clv_service_kubernetes(
	struct clv_services *services, json_t **ret, struct clv_error *err)
{
	json_t *made;
	int r = check_names(services, err);

	if (r < 0)
		return r;
	made = json_array();
	for (size_t i = 0; i < services->volumes.n; i++)
		json_array_append_new(
			made, make_claim(services, services->volumes.items[i]));
	for (size_t i = 0; i < services->n && r >= 0; i++)
		r = add_service(made, &services->items[services->order[i]], err);
	if (r >= 0 && !made)
		r = clv_error_errno(err, ENOMEM, "cannot make manifests");
	if (r < 0) {
		json_decref(made);
		return r;
	}
	*ret = made;
	return 0;
}
