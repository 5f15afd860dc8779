#include <stdlib.h>
#include <yaml.h>

#include "store/base/json_out.h"
#include "store/base/utf8.h"
#include "store/base/yaml.h"
#include "store/base/yaml_scalar.h"

/*
 * libyaml's emitter does the layout. This file decides which strings need quotes, by the
 * same rules by which strings are read.
 */

struct yaml_writer {
	yaml_emitter_t emitter;
	struct pl_buf *out;
	struct pl_buf number;
	enum pl_code code;
};

static int on_bytes(void *ctx, unsigned char *bytes, size_t len)
{
	struct yaml_writer *w = ctx;

	if (w->code == PL_OK)
		w->code = pl_buf_add(w->out, pl_span(bytes, len));
	return w->code == PL_OK;
}

/* Consumes the event. A result of 0 from libyaml means no memory, or that the output
 * callback refused. */
static void emit_event(struct yaml_writer *w, yaml_event_t *event, int made)
{
	if (w->code != PL_OK) {
		if (made != 0)
			yaml_event_delete(event);
		return;
	}
	if ((made == 0 || yaml_emitter_emit(&w->emitter, event) == 0) && w->code == PL_OK)
		w->code = PL_NOMEM;
}

/* True for line breaks other than LF and for byte order marks, which would not read back
 * as they were. */
static bool needs_escapes(struct pl_span text)
{
	while (text.len > 0) {
		size_t len = pl_utf8_char(text.at, text.len);

		if (*text.at == '\r' || *text.at == 0x7f ||
		    (*text.at < 0x20 && *text.at != '\n'))
			return true;
		if ((len == 2 && memcmp(text.at, "\xc2\x85", 2) == 0) ||
		    (len == 3 && (memcmp(text.at, "\xe2\x80\xa8", 3) == 0 ||
		                  memcmp(text.at, "\xe2\x80\xa9", 3) == 0 ||
		                  memcmp(text.at, "\xef\xbb\xbf", 3) == 0)))
			return true;
		len += len == 0;
		text = pl_span(text.at + len, text.len - len);
	}
	return false;
}

static yaml_scalar_style_t style_of(struct pl_span text)
{
	if (pl_yaml_needs_quotes(text) || needs_escapes(text))
		return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	if (memchr(text.at, '\n', text.len) == NULL)
		return YAML_ANY_SCALAR_STYLE;
	return text.at[0] == '\n' || text.at[0] == ' ' ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
	                                               : YAML_LITERAL_SCALAR_STYLE;
}

static void emit_scalar(struct yaml_writer *w, struct pl_span text,
                        yaml_scalar_style_t style)
{
	yaml_event_t event;
	int made = yaml_scalar_event_initialize(&event, NULL, NULL, text.at,
	                                        (int)text.len, 1, 1, style);

	emit_event(w, &event, made);
}

static void emit_string(struct yaml_writer *w, const char *text)
{
	PL_ASSERT(text != NULL);
	emit_scalar(w, pl_span_str(text), style_of(pl_span_str(text)));
}

static void emit_value(struct yaml_writer *w, struct pl_json value)
{
	const char *text = NULL;
	struct pl_json_out out;
	enum pl_code code;

	if (pl_json_as_string(value, &text, NULL) == PL_OK) {
		emit_string(w, text);
		return;
	}
	pl_buf_clear(&w->number, SIZE_MAX);
	pl_json_out_init(&out, &w->number);
	pl_json_out_value(&out, value);
	code = pl_json_out_done(&out);
	if (code != PL_OK && w->code == PL_OK)
		w->code = code;
	emit_scalar(w, pl_buf_span(&w->number), YAML_PLAIN_SCALAR_STYLE);
}

static bool is_container(struct pl_json value)
{
	enum pl_json_type type = pl_json_type(value);

	return type == PL_JSON_OBJECT || type == PL_JSON_ARRAY;
}

static void emit_open(struct yaml_writer *w, struct pl_json value)
{
	yaml_event_t event;
	int made;

	if (pl_json_type(value) == PL_JSON_OBJECT)
		made = yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
		                                           YAML_BLOCK_MAPPING_STYLE);
	else
		made = yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
		                                            YAML_BLOCK_SEQUENCE_STYLE);
	emit_event(w, &event, made);
}

static void emit_close(struct yaml_writer *w, struct pl_json value)
{
	yaml_event_t event;
	int made = pl_json_type(value) == PL_JSON_OBJECT
	                   ? yaml_mapping_end_event_initialize(&event)
	                   : yaml_sequence_end_event_initialize(&event);

	emit_event(w, &event, made);
}

static void emit_tree(struct yaml_writer *w, struct pl_json root)
{
	struct pl_json up[PL_JSON_DEPTH_MAX + 1];
	struct pl_json at = root;
	size_t depth = 0;

	do {
		if (depth > 0 && at.node == NULL) {
			at = up[--depth];
			emit_close(w, at);
		} else {
			if (depth > 0 && pl_json_type(up[depth - 1]) == PL_JSON_OBJECT)
				emit_string(w, pl_json_key(at));
			if (is_container(at)) {
				emit_open(w, at);
				up[depth++] = at;
				at = pl_json_first(at);
				continue;
			}
			emit_value(w, at);
		}
		if (depth > 0)
			at = pl_json_next(at);
	} while (depth > 0);
}

static void emit_all(struct yaml_writer *w, struct pl_json value)
{
	yaml_event_t event;

	emit_event(w, &event,
	           yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit_event(w, &event,
	           yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	emit_tree(w, value);
	emit_event(w, &event, yaml_document_end_event_initialize(&event, 1));
	emit_event(w, &event, yaml_stream_end_event_initialize(&event));
}

enum pl_code pl_yaml_from_json(struct pl_json value, struct pl_buf *out,
                               struct pl_err *err)
{
	struct yaml_writer w = {.out = out};

	PL_ASSERT(value.node != NULL);
	if (yaml_emitter_initialize(&w.emitter) == 0)
		return pl_err_set(err, PL_NOMEM, "YAML: no memory");
	pl_buf_init(&w.number, 64);
	yaml_emitter_set_output(&w.emitter, on_bytes, &w);
	yaml_emitter_set_unicode(&w.emitter, 1);
	yaml_emitter_set_indent(&w.emitter, 2);
	yaml_emitter_set_width(&w.emitter, -1);
	emit_all(&w, value);
	yaml_emitter_delete(&w.emitter);
	pl_buf_done(&w.number);
	return w.code == PL_OK
	               ? PL_OK
	               : pl_err_set(err, w.code, "YAML: %s", pl_code_name(w.code));
}
