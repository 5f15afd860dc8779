#include "store/base/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "store/base/alloc.h"
#include "store/base/json_out.h"
#include "store/base/json_scan.h"
#include "store/base/map.h"
#include "store/base/num.h"
#include "store/base/quote.h"
#include "store/base/yaml_scalar.h"

/*
 * Each event of libyaml becomes a call of the JSON writer. No tree is built, and nothing
 * is read ahead of the bounds.
 */

enum { DEPTH_MAX = PL_JSON_OUT_DEPTH_MAX };

struct yaml_level {
	bool object;
	bool named; /* a name has been written, and its value is due */
	struct pl_map names;
};

struct yaml_reader {
	yaml_parser_t parser;
	const struct pl_json_limits *limits;
	uint32_t depth_max;
	uint32_t values;
	struct yaml_level level[DEPTH_MAX];
	uint32_t depth;
	struct pl_arena arena; /* names of the open document */
	struct pl_buf json;
	struct pl_json_out out;
	bool empty; /* the document holds nothing but an absent value */
	pl_yaml_fn *fn;
	void *ctx;
	struct pl_err *err;
};

static enum pl_code fail_at(struct yaml_reader *r, enum pl_code code, yaml_mark_t mark,
                            const char *what)
{
	return pl_err_set(r->err, code, "YAML, line %zu, column %zu: %s", mark.line + 1,
	                  mark.column + 1, what);
}

static enum pl_code no_memory(struct yaml_reader *r)
{
	return pl_err_set(r->err, PL_NOMEM, "YAML: no memory");
}

static enum pl_code parser_failed(struct yaml_reader *r)
{
	const yaml_parser_t *parser = &r->parser;
	const char *what = parser->problem == NULL ? "not YAML" : parser->problem;

	if (parser->error == YAML_MEMORY_ERROR)
		return no_memory(r);
	if (parser->error == YAML_READER_ERROR)
		return pl_err_set(r->err, PL_INVALID, "YAML, byte %zu: %s",
		                  parser->problem_offset, what);
	return fail_at(r, PL_INVALID, parser->problem_mark, what);
}

/* Prepares for the next node, which is a member's name or a value that counts. */
static enum pl_code begin_node(struct yaml_reader *r, const yaml_event_t *event,
                               const yaml_char_t *anchor)
{
	struct yaml_level *level = r->depth == 0 ? NULL : &r->level[r->depth - 1];

	if (anchor != NULL)
		return fail_at(r, PL_INVALID, event->start_mark,
		               "anchors are not accepted");
	if (level != NULL && level->object && !level->named &&
	    event->type != YAML_SCALAR_EVENT)
		return fail_at(r, PL_INVALID, event->start_mark,
		               "a name can not be a list or a mapping");
	if (++r->values > r->limits->values)
		return fail_at(r, PL_LIMIT, event->start_mark, "too many values");
	return PL_OK;
}

static void end_value(struct yaml_reader *r)
{
	if (r->depth > 0)
		r->level[r->depth - 1].named = false;
}

static enum pl_code take_name(struct yaml_reader *r, const yaml_event_t *event)
{
	struct yaml_level *level = &r->level[r->depth - 1];
	struct pl_span name = pl_arena_dup(
		&r->arena, pl_span(event->data.scalar.value, event->data.scalar.length));
	struct pl_map_node *node = pl_arena_zalloc(&r->arena, 1, sizeof *node);
	char quoted[PL_QUOTE_SIZE], what[PL_QUOTE_SIZE + 32];

	if (node == NULL || (name.at == NULL && event->data.scalar.length > 0))
		return no_memory(r);
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    pl_yaml_resolve(name).kind == PL_YAML_MERGE)
		return fail_at(r, PL_INVALID, event->start_mark,
		               "merges are not accepted");
	if (pl_map_add(&level->names, node, name) != NULL) {
		(void)snprintf(what, sizeof what, "%s stands twice",
		               pl_quote(name, quoted));
		return fail_at(r, PL_INVALID, event->start_mark, what);
	}
	pl_json_out_name_span(&r->out, name);
	level->named = true;
	return PL_OK;
}

static void write_int(struct yaml_reader *r, const struct pl_yaml_scalar *scalar)
{
	char text[PL_NUM_TEXT_SIZE + 1] = "-";
	size_t len = pl_num_print_u64(text + 1, scalar->whole);
	size_t skip = scalar->negative && scalar->whole != 0 ? 0 : 1;

	pl_json_out_raw(&r->out, pl_span(text + skip, len + 1 - skip));
}

static enum pl_code take_plain(struct yaml_reader *r, const yaml_event_t *event,
                               struct pl_span text)
{
	struct pl_yaml_scalar scalar = pl_yaml_resolve(text);

	switch (scalar.kind) {
	case PL_YAML_STRING:
	case PL_YAML_MERGE:
		pl_json_out_string(&r->out, text);
		break;
	case PL_YAML_NULL:
		pl_json_out_null(&r->out);
		break;
	case PL_YAML_BOOL:
		pl_json_out_bool(&r->out, scalar.truth);
		break;
	case PL_YAML_INT:
		write_int(r, &scalar);
		break;
	case PL_YAML_FLOAT:
		pl_json_out_double(&r->out, scalar.number);
		break;
	case PL_YAML_UNREPRESENTABLE:
		return fail_at(r, PL_INVALID, event->start_mark,
		               "no number that JSON could hold; quotes make it a string");
	}
	r->empty = r->depth == 0 && text.len == 0;
	return PL_OK;
}

static enum pl_code on_scalar(struct yaml_reader *r, const yaml_event_t *event)
{
	const yaml_char_t *tag = event->data.scalar.tag;
	struct pl_span text =
		pl_span(event->data.scalar.value, event->data.scalar.length);
	enum pl_code code = begin_node(r, event, event->data.scalar.anchor);
	struct yaml_level *level = r->depth == 0 ? NULL : &r->level[r->depth - 1];

	if (code != PL_OK)
		return code;
	if (memchr(text.at, 0, text.len) != NULL)
		return fail_at(r, PL_INVALID, event->start_mark, "a NUL in a string");
	if (tag != NULL && strcmp((const char *)tag, "!") != 0 &&
	    strcmp((const char *)tag, YAML_STR_TAG) != 0)
		return fail_at(r, PL_INVALID, event->start_mark, "tags are not accepted");
	if (level != NULL && level->object && !level->named)
		return take_name(r, event);
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && tag == NULL)
		code = take_plain(r, event, text);
	else
		pl_json_out_string(&r->out, text);
	end_value(r);
	return code;
}

static enum pl_code on_open(struct yaml_reader *r, const yaml_event_t *event, bool object)
{
	const yaml_char_t *anchor = object ? event->data.mapping_start.anchor
	                                   : event->data.sequence_start.anchor;
	const yaml_char_t *tag =
		object ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	enum pl_code code = begin_node(r, event, anchor);

	if (code != PL_OK)
		return code;
	if (tag != NULL)
		return fail_at(r, PL_INVALID, event->start_mark, "tags are not accepted");
	if (r->depth == r->depth_max)
		return fail_at(r, PL_LIMIT, event->start_mark, "too deep");
	end_value(r);
	r->level[r->depth] = (struct yaml_level){.object = object};
	pl_map_init(&r->level[r->depth].names);
	r->depth++;
	if (object)
		pl_json_out_object(&r->out);
	else
		pl_json_out_array(&r->out);
	return PL_OK;
}

static void on_close(struct yaml_reader *r)
{
	r->depth--;
	pl_map_done(&r->level[r->depth].names);
	pl_json_out_end(&r->out);
}

static void document_begin(struct yaml_reader *r)
{
	pl_buf_clear(&r->json, SIZE_MAX);
	pl_json_out_init(&r->out, &r->json);
	r->empty = false;
}

static enum pl_code document_end(struct yaml_reader *r)
{
	enum pl_code code = pl_json_out_done(&r->out);

	pl_arena_reset(&r->arena);
	if (code == PL_NOMEM)
		return no_memory(r);
	if (code != PL_OK)
		return pl_err_set(r->err, code, "YAML: more than %zu bytes as JSON",
		                  r->json.max);
	return r->empty ? PL_OK : r->fn(r->ctx, pl_buf_span(&r->json), r->err);
}

static enum pl_code on_event(struct yaml_reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		document_begin(r);
		return PL_OK;
	case YAML_DOCUMENT_END_EVENT:
		return document_end(r);
	case YAML_ALIAS_EVENT:
		return fail_at(r, PL_INVALID, event->start_mark,
		               "aliases are not accepted");
	case YAML_SCALAR_EVENT:
		return on_scalar(r, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(r, event, false);
	case YAML_MAPPING_START_EVENT:
		return on_open(r, event, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		on_close(r);
		return PL_OK;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
		return PL_OK;
	}
	PL_UNREACHABLE("event of YAML");
}

static enum pl_code read_all(struct yaml_reader *r)
{
	enum pl_code code = PL_OK;
	bool ended = false;
	yaml_event_t event;

	while (code == PL_OK && !ended) {
		if (yaml_parser_parse(&r->parser, &event) == 0)
			return parser_failed(r);
		ended = event.type == YAML_STREAM_END_EVENT;
		code = on_event(r, &event);
		yaml_event_delete(&event);
	}
	return code;
}

static enum pl_code read_yaml(struct yaml_reader *r, struct pl_span yaml)
{
	enum pl_code code;

	if (yaml_parser_initialize(&r->parser) == 0)
		return no_memory(r);
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, yaml.at, yaml.len);
	pl_arena_init(&r->arena, 0, 0);
	/* Room for escapes and names: one byte becomes six at most. */
	pl_buf_init(&r->json, 6 * r->limits->bytes + 64);
	code = read_all(r);
	while (r->depth > 0)
		pl_map_done(&r->level[--r->depth].names);
	pl_buf_done(&r->json);
	pl_arena_done(&r->arena);
	yaml_parser_delete(&r->parser);
	return code;
}

/* JSON is read by its own rules, because its escapes and tabs are not quite YAML's. */
static bool looks_like_json(struct pl_span text, const struct pl_json_limits *limits)
{
	size_t at = 0;

	while (at < text.len && (text.at[at] == ' ' || text.at[at] == '\t' ||
	                         text.at[at] == '\r' || text.at[at] == '\n'))
		at++;
	return at < text.len && (text.at[at] == '{' || text.at[at] == '[') &&
	       pl_json_scan(text, limits, NULL) == PL_OK;
}

enum pl_code pl_yaml_to_json(struct pl_span yaml, const struct pl_json_limits *limits,
                             pl_yaml_fn *fn, void *ctx, struct pl_err *err)
{
	struct yaml_reader *r;
	enum pl_code code;

	if (limits == NULL)
		limits = &pl_json_limits_default;
	if (yaml.len > limits->bytes)
		return pl_err_set(err, PL_LIMIT, "YAML of %zu bytes: want at most %zu",
		                  yaml.len, limits->bytes);
	if (looks_like_json(yaml, limits))
		return fn(ctx, yaml, err);
	r = pl_calloc(1, sizeof *r);
	if (r == NULL)
		return pl_err_set(err, PL_NOMEM, "YAML: no memory");
	r->limits = limits;
	r->depth_max = limits->depth < DEPTH_MAX ? limits->depth : DEPTH_MAX;
	r->fn = fn;
	r->ctx = ctx;
	r->err = err;
	code = read_yaml(r, yaml);
	free(r);
	return code;
}
