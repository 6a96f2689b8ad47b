/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the report of `cleave profile` from samples of the lease. */
#include "cli/launch/measured.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/share/advise.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_LEAST 5u
#define PROFILES_MAX 64u
#define CHOICES_STEP 4u
#define IDLE_BELOW_PPM 10000u

void clv_measured_add(
	struct clv_measurement *measured, uint64_t now_ns, const json_t *lease)
{
	struct clv_measured_sample *sample = CLV_APPEND(measured->samples, measured->n);

	if (!sample)
		return;
	*sample = (struct clv_measured_sample){
		.time_ns = now_ns,
		.held_s = clv_json_number(lease, "held_seconds"),
		.waited_s = clv_json_number(lease, "waited_seconds"),
		.memory_bytes = clv_json_bytes(lease, "memory_used_bytes"),
		.n_refused = clv_json_bytes(lease, "refusals"),
	};
}

void clv_measured_done(struct clv_measurement *measured)
{
	free(measured->samples);
	measured->samples = NULL;
}

/* The part of the time between two samples in which the device was held. */
static uint32_t part(
	const struct clv_measured_sample *from, const struct clv_measured_sample *to)
{
	double took_s = (double)(to->time_ns - from->time_ns) / (double)CLV_NS_PER_S;
	double part = took_s > 0 ? (to->held_s - from->held_s) / took_s : 0;

	return part >= 1 ? CLV_PPM : part > 0 ? (uint32_t)(part * CLV_PPM) : 0;
}

/* Cuts the samples into windows of step samples each.  The caller frees wanted_ppm. */
static struct clv_advise_use cut_windows(
	const struct clv_measurement *measured, size_t step)
{
	struct clv_advise_use use = {
		.wanted_ppm = calloc(measured->n, sizeof(*use.wanted_ppm))};

	for (size_t i = step; use.wanted_ppm && i < measured->n; i += step)
		use.wanted_ppm[use.n++] =
			part(&measured->samples[i - step], &measured->samples[i]);
	clv_advise_sort(&use);
	return use;
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static void add_memory(const struct clv_measurement *measured, struct clv_advise_use *use)
{
	_cleanup_free_ uint64_t *bytes = calloc(measured->n, sizeof(*bytes));

	for (size_t i = 0; bytes && i < measured->n; i++)
		bytes[i] = measured->samples[i].memory_bytes;
	if (!bytes)
		return;
	qsort(bytes, measured->n, sizeof(*bytes), compare);
	use->memory_steady_bytes = bytes[measured->n / 2];
	use->memory_peak_bytes = bytes[measured->n - 1];
}

static double seconds(const struct clv_measurement *measured)
{
	assert(measured->n > 0);
	return (double)(measured->samples[measured->n - 1].time_ns -
			measured->samples[0].time_ns) /
	       (double)CLV_NS_PER_S;
}

/* The partitions that hardware isolates; sets of processors share their memory. */
static size_t read_profiles(const json_t *list, struct clv_advise_profile *ret)
{
	json_t *items = json_object_get(list, "items"), *item;
	double whole = 0;
	size_t n = 0, i;

	json_array_foreach (items, i, item) {
		if (clv_json_number(item, "compute_units") > whole)
			whole = clv_json_number(item, "compute_units");
	}
	json_array_foreach (items, i, item) {
		double units = clv_json_number(item, "compute_units");

		if (n == PROFILES_MAX || units <= 0 ||
			strcmp(clv_json_text(item, "scheme"), "cores") == 0)
			continue;
		ret[n].compute_ppm = (uint32_t)(units / whole * CLV_PPM);
		ret[n].memory_bytes = clv_json_bytes(item, "memory_bytes");
		snprintf(ret[n].name, sizeof(ret[n].name), "%s",
			clv_json_text(item, "profile"));
		n++;
	}
	return n;
}

static uint32_t mean(const struct clv_advise_use *use)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < use->n; i++)
		sum += use->wanted_ppm[i];
	return use->n ? (uint32_t)(sum / use->n) : 0;
}

static json_t *windows_to_json(const struct clv_advise_use *use)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:I}", "mean", (double)mean(use) / CLV_PPM,
		"p50", (double)clv_advise_percentile(use, 50) / CLV_PPM, "p95",
		(double)clv_advise_percentile(use, 95) / CLV_PPM, "most",
		(double)clv_advise_percentile(use, 100) / CLV_PPM, "windows",
		(json_int_t)use->n);
}

static double in_s(uint64_t ns)
{
	return (double)ns / (double)CLV_NS_PER_S;
}

static json_t *lengths_to_json(const struct clv_lengths *lengths)
{
	return json_pack("{s:I,s:I,s:f,s:f,s:f}", "count",
		(json_int_t)clv_lengths_count(lengths), "pauses",
		(json_int_t)atomic_load(&lengths->n_pauses), "p50_seconds",
		in_s(clv_lengths_percentile(lengths, 50)), "p95_seconds",
		in_s(clv_lengths_percentile(lengths, 95)), "longest_seconds",
		in_s(atomic_load(&lengths->longest_ns)));
}

static json_t *choices_to_json(const struct clv_advise_use *use)
{
	json_t *array = json_array();

	for (uint32_t ppm = 2 * CLV_ADVISE_STEP_PPM; ppm <= CLV_PPM;
		ppm += CHOICES_STEP * CLV_ADVISE_STEP_PPM)
		json_array_append_new(array,
			json_pack("{s:f,s:f}", "share", (double)ppm / CLV_PPM,
				"expected_slowdown", clv_advise_slowdown(use, ppm)));
	return array;
}

/* Appends a word, quoted if a shell would interpret it. */
static void append_word(FILE *to, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-/=:,+@%";

	if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
		fprintf(to, " %s", word);
		return;
	}
	fputs(" '", to);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, to);
	fputc('\'', to);
}

static json_t *command_of(const struct clv_advise_part *fit,
	const struct clv_advise_profile *profile, char *const *argv)
{
	char *text = NULL, fraction[16];
	size_t n_bytes = 0;
	FILE *to = open_memstream(&text, &n_bytes);
	json_t *command;

	if (!to)
		return json_null();
	clv_units_format_fraction(fit->share_ppm, fraction);
	if (profile)
		fprintf(to, "cleave run --profile %s --", profile->name);
	else
		fprintf(to, "cleave run --share %s --memory %" PRIu64 "M --class %s --",
			fraction, fit->memory_bytes >> 20,
			clv_class_to_string(fit->class));
	for (; *argv; argv++)
		append_word(to, *argv);
	fclose(to);
	command = json_string(text);
	free(text);
	return command ? command : json_null();
}

static json_t *proposal(const struct clv_advise_use *use, const json_t *lease,
	const json_t *list, char *const *argv)
{
	struct clv_advise_profile profiles[PROFILES_MAX];
	struct clv_advise_device device = {
		.memory_bytes = clv_json_bytes(lease, "memory_bytes"),
		.profiles = profiles,
		.n_profiles = read_profiles(list, profiles),
	};
	const struct clv_advise_profile *profile;
	struct clv_advise_part fit;
	double slowdown = clv_advise_fit(use, &device, &fit);
	json_t *object = json_pack("{s:f,s:I,s:s,s:f,s:o}", "share",
		(double)fit.share_ppm / CLV_PPM, "memory_bytes",
		(json_int_t)fit.memory_bytes, "class", clv_class_to_string(fit.class),
		"expected_slowdown", slowdown, "command", command_of(&fit, NULL, argv));

	profile = clv_advise_profile(use, &device);
	json_object_set_new(
		object, "profile", profile ? json_string(profile->name) : json_null());
	json_object_set_new(object, "profile_command",
		profile ? command_of(&fit, profile, argv) : json_null());
	json_object_set_new(object, "choices", choices_to_json(use));
	return object;
}

/* The figures from the first to the last window in which the program computed, without
 * its start and end. */
static json_t *computing_to_json(const struct clv_measurement *measured)
{
	const struct clv_lengths *lengths = &measured->lengths;
	size_t first = 1, last = measured->n - 1;
	const struct clv_measured_sample *from, *to;
	uint64_t n = clv_lengths_count(lengths);
	double s;

	while (first < last && part(&measured->samples[first - 1],
				       &measured->samples[first]) < IDLE_BELOW_PPM)
		first++;
	while (last > first && part(&measured->samples[last - 1],
				       &measured->samples[last]) < IDLE_BELOW_PPM)
		last--;
	/* The program computed only in parts of the first and of the last window. */
	if (last > first + 2)
		last--;
	from = &measured->samples[first];
	to = &measured->samples[last];
	s = (double)(to->time_ns - from->time_ns) / (double)CLV_NS_PER_S;
	return json_pack("{s:f,s:f,s:f,s:f}", "seconds", s, "part",
		(double)part(from, to) / CLV_PPM, "pauses_per_second",
		s > 0 ? (double)atomic_load(&lengths->n_pauses) / s : 0.0,
		"command_seconds", n ? in_s(atomic_load(&lengths->sum_ns) / n) : 0.0);
}

json_t *clv_measured_report(const struct clv_measurement *measured, const json_t *lease,
	const json_t *profiles, char *const *argv)
{
	struct clv_advise_use fine, coarse;
	const struct clv_measured_sample *last;
	json_t *object;

	if (measured->n < SAMPLES_LEAST)
		return NULL;
	last = &measured->samples[measured->n - 1];
	fine = cut_windows(measured, 1);
	coarse = cut_windows(measured, 1000 / CLV_MEASURED_WINDOW_MS);
	add_memory(measured, &fine);
	fine.used_ppm = mean(&fine);
	fine.knows_pauses = clv_lengths_count(&measured->lengths) > 0;
	fine.pauses =
		(double)atomic_load(&measured->lengths.n_pauses) / seconds(measured);
	fine.command_us = clv_lengths_percentile(&measured->lengths, 95) / CLV_NS_PER_US;
	object = json_pack("{s:s,s:f,s:b,s:{s:I,s:I,s:I},s:{s:o,s:o},s:o,s:o,s:o}",
		"device", clv_json_text(lease, "device"), "seconds", seconds(measured),
		"disturbed", last->waited_s > 0.01 * seconds(measured), "memory",
		"peak_bytes", (json_int_t)fine.memory_peak_bytes, "steady_bytes",
		(json_int_t)fine.memory_steady_bytes, "refusals",
		(json_int_t)last->n_refused, "compute", "of_100ms",
		windows_to_json(&fine), "of_1s", windows_to_json(&coarse), "commands",
		lengths_to_json(&measured->lengths), "at_work",
		computing_to_json(measured), "proposal",
		proposal(&fine, lease, profiles, argv));
	free(fine.wanted_ppm);
	free(coarse.wanted_ppm);
	return object;
}

/* The report as text. */

static void print_windows(const json_t *windows, const char *of, FILE *to)
{
	if (clv_json_number(windows, "windows") > 0)
		clv_output_line(to,
			"compute   %.0f %% of the time on average, in windows of %s the "
			"median is %.0f %% and the 95th percentile %.0f %%",
			100 * clv_json_number(windows, "mean"), of,
			100 * clv_json_number(windows, "p50"),
			100 * clv_json_number(windows, "p95"));
}

static void print_commands(const json_t *commands, FILE *to)
{
	if (clv_json_number(commands, "count") > 0)
		clv_output_line(to,
			"commands  %.0f, the median is %.2f ms, the 95th percentile %.2f "
			"ms, the longest %.2f ms",
			clv_json_number(commands, "count"),
			1e3 * clv_json_number(commands, "p50_seconds"),
			1e3 * clv_json_number(commands, "p95_seconds"),
			1e3 * clv_json_number(commands, "longest_seconds"));
	else
		clv_output_line(to, "commands  none");
}

static void print_proposal(const json_t *proposal, FILE *to)
{
	const char *profile = clv_json_text(proposal, "profile_command");
	const json_t *choice;
	size_t i;

	clv_output_line(to,
		"slowdown  %.2f under the proposal, with all other leases busy; by "
		"share:",
		clv_json_number(proposal, "expected_slowdown"));
	fputs("         ", to);
	json_array_foreach (json_object_get(proposal, "choices"), i, choice)
		fprintf(to, " %.1f: %.2f", clv_json_number(choice, "share"),
			clv_json_number(choice, "expected_slowdown"));
	fputc('\n', to);
	clv_output_line(to, "proposed  %s", clv_json_text(proposal, "command"));
	if (profile[0])
		clv_output_line(to, "or        %s", profile);
}

void clv_measured_print(const json_t *report, FILE *to)
{
	const json_t *memory = json_object_get(report, "memory");
	const json_t *compute = json_object_get(report, "compute");
	char peak[32], steady[32];

	clv_units_format_bytes(clv_json_bytes(memory, "peak_bytes"), peak);
	clv_units_format_bytes(clv_json_bytes(memory, "steady_bytes"), steady);
	clv_output_line(to, "profile   %.1f s on %s%s",
		clv_json_number(report, "seconds"), clv_json_text(report, "device"),
		clv_json_flag(report, "disturbed")
			? ", disturbed: the program waited for other leases"
			: "");
	clv_output_line(to, "memory    peak %s, median %s", peak, steady);
	print_windows(json_object_get(compute, "of_1s"), "a second", to);
	print_windows(json_object_get(compute, "of_100ms"), "100 ms", to);
	print_commands(json_object_get(report, "commands"), to);
	print_proposal(json_object_get(report, "proposal"), to);
}
