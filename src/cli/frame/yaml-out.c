/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON values as YAML, with libyaml's emitter.  A string is plain only if no YAML
 * reader can take it for a number, a date or a boolean; all other strings are quoted. */
#include "cli/frame/yaml-out.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

static bool is_plain(const char *text)
{
	static const char *const reserved[] = {
		"true", "false", "null", "yes", "no", "on", "off", "y", "n"};

	if (!isalpha((unsigned char)text[0]) && text[0] != '/')
		return false;
	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("._/-", *p))
			return false;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(reserved); i++) {
		if (strcasecmp(text, reserved[i]) == 0)
			return false;
	}
	return true;
}

static bool emit_scalar(yaml_emitter_t *emitter, const char *text, bool is_quoted)
{
	yaml_event_t event;

	return yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
		       (int)strlen(text), 1, 1,
		       is_quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
				 : YAML_PLAIN_SCALAR_STYLE) &&
	       yaml_emitter_emit(emitter, &event);
}

/* A float with an exponent needs a point as well, or YAML 1.1 reads it as text. */
static bool emit_number(yaml_emitter_t *emitter, const json_t *value)
{
	_cleanup_free_ char *text =
		json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	char pointed[64];
	char *exponent = text ? strchr(text, 'e') : NULL;

	if (!text)
		return false;
	if (!exponent || strchr(text, '.'))
		return emit_scalar(emitter, text, false);

	snprintf(pointed, sizeof(pointed), "%.*s.0%s", (int)(exponent - text), text,
		exponent);
	return emit_scalar(emitter, pointed, false);
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value);

static bool emit_array(yaml_emitter_t *emitter, const json_t *array)
{
	yaml_sequence_style_t style = json_array_size(array) ? YAML_BLOCK_SEQUENCE_STYLE
							     : YAML_FLOW_SEQUENCE_STYLE;
	yaml_event_t event;
	json_t *item;
	size_t i;

	if (!yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style) ||
		!yaml_emitter_emit(emitter, &event))
		return false;
	json_array_foreach (array, i, item) {
		if (!emit_value(emitter, item))
			return false;
	}
	return yaml_sequence_end_event_initialize(&event) &&
	       yaml_emitter_emit(emitter, &event);
}

static bool emit_object(yaml_emitter_t *emitter, const json_t *object)
{
	yaml_mapping_style_t style = json_object_size(object) ? YAML_BLOCK_MAPPING_STYLE
							      : YAML_FLOW_MAPPING_STYLE;
	yaml_event_t event;
	const char *key;
	json_t *value;

	if (!yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style) ||
		!yaml_emitter_emit(emitter, &event))
		return false;
	json_object_foreach ((json_t *)object, key, value) {
		if (!emit_scalar(emitter, key, !is_plain(key)) ||
			!emit_value(emitter, value))
			return false;
	}
	return yaml_mapping_end_event_initialize(&event) &&
	       yaml_emitter_emit(emitter, &event);
}

static bool emit_value(yaml_emitter_t *emitter, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return emit_object(emitter, value);
	case JSON_ARRAY:
		return emit_array(emitter, value);
	case JSON_STRING:
		return emit_scalar(emitter, json_string_value(value),
			!is_plain(json_string_value(value)));
	case JSON_INTEGER:
	case JSON_REAL:
		return emit_number(emitter, value);
	case JSON_TRUE:
		return emit_scalar(emitter, "true", false);
	case JSON_FALSE:
		return emit_scalar(emitter, "false", false);
	case JSON_NULL:
		return emit_scalar(emitter, "null", false);
	}
	return false;
}

int clv_yaml_write(const json_t *value, bool is_marked, FILE *stream)
{
	yaml_emitter_t emitter;
	yaml_event_t event;
	bool good;

	if (!yaml_emitter_initialize(&emitter))
		return -ENOMEM;
	yaml_emitter_set_output_file(&emitter, stream);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	good = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
	       yaml_emitter_emit(&emitter, &event) &&
	       yaml_document_start_event_initialize(
		       &event, NULL, NULL, NULL, !is_marked) &&
	       yaml_emitter_emit(&emitter, &event) && emit_value(&emitter, value) &&
	       yaml_document_end_event_initialize(&event, 1) &&
	       yaml_emitter_emit(&emitter, &event) &&
	       yaml_stream_end_event_initialize(&event) &&
	       yaml_emitter_emit(&emitter, &event) && yaml_emitter_flush(&emitter);
	yaml_emitter_delete(&emitter);
	return good ? 0 : -EIO;
}
