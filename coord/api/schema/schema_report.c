#include "coord/api/schema/schema_report.h"

#include <string.h>

#include "coord/api/base/go_quote.h"
#include "store/base/json_out.h"

/* Bad values are shown up to this many bytes. */
enum { VALUE_MAX = 16384, TEXT_MAX = 4096 };

#define FAULT_TYPE(name, type, words) [SCHEMA_##name##_FAULT] = (type),
#define FAULT_WORDS(name, type, words) [SCHEMA_##name##_FAULT] = (words),
static const char *const fault_types[] = {SCHEMA_FAULT_MAP(FAULT_TYPE)};
static const char *const fault_words[] = {SCHEMA_FAULT_MAP(FAULT_WORDS)};

void schema_report_init(struct schema_report *report, struct pl_arena *arena)
{
	report->arena = arena;
	report->code = PL_OK;
	report->wrong = (struct pl_span){NULL, 0};
	report->unknown_count = report->more_unknown = 0;
	report->cause_count = report->more_causes = 0;
}

static bool shows_value(enum schema_fault fault)
{
	switch (fault) {
	case SCHEMA_INVALID_FAULT:
	case SCHEMA_NOT_SUPPORTED_FAULT:
	case SCHEMA_DUPLICATE_FAULT:
	case SCHEMA_TOO_MANY_FAULT:
		return true;
	case SCHEMA_REQUIRED_FAULT:
	case SCHEMA_FORBIDDEN_FAULT:
	case SCHEMA_TOO_LONG_FAULT:
	case SCHEMA_FAULT_COUNT:
		break;
	}
	return false;
}

static const char *quoted(struct pl_arena *arena, struct pl_span text)
{
	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	return go_quote(arena, text);
}

static void add_cause(struct schema_report *report, const struct schema_place *place,
                      enum schema_fault fault, const char *value, const char *detail)
{
	const char *path, *message;

	if (report->cause_count == SCHEMA_CAUSES_MAX) {
		report->more_causes++;
		return;
	}
	if (value == NULL) {
		report->code = PL_NOMEM;
		return;
	}
	PL_ASSERT((unsigned)fault < SCHEMA_FAULT_COUNT);
	path = schema_place_path(report->arena, place);
	message = pl_arena_printf(report->arena, "%s%s%s%s%s", fault_words[fault],
	                          shows_value(fault) ? ": " : "",
	                          shows_value(fault) ? value : "",
	                          detail != NULL && *detail != '\0' ? ": " : "",
	                          detail != NULL ? detail : "");
	if (path == NULL || message == NULL) {
		report->code = PL_NOMEM;
		return;
	}
	report->cause[report->cause_count++] = (struct schema_cause){
		fault_types[fault], pl_span_str(path), pl_span_str(message)};
}

static const char *json_text(struct pl_arena *arena, struct pl_json value)
{
	struct pl_json_out out;
	struct pl_buf buf;
	const char *text = NULL;
	enum pl_code code;

	pl_buf_init(&buf, VALUE_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	code = pl_json_out_done(&out);
	if (code == PL_OK)
		text = (const char *)pl_arena_dup(arena, pl_buf_span(&buf)).at;
	else if (code == PL_LIMIT)
		text = "<value omitted>";
	pl_buf_done(&buf);
	return text;
}

void schema_report_add(struct schema_report *report, const struct schema_place *place,
                       enum schema_fault fault, struct pl_json value, const char *detail)
{
	const char *text = "", *string;

	if (shows_value(fault) && pl_json_type(value) == PL_JSON_STRING &&
	    pl_json_as_string(value, &string, NULL) == PL_OK)
		text = quoted(report->arena, pl_span_str(string));
	else if (shows_value(fault) && pl_json_type(value) == PL_JSON_ABSENT)
		text = "null";
	else if (shows_value(fault))
		text = json_text(report->arena, value);
	add_cause(report, place, fault, text, detail);
}

void schema_report_text(struct schema_report *report, const struct schema_place *place,
                        enum schema_fault fault, struct pl_span value, const char *detail)
{
	add_cause(report, place, fault,
	          shows_value(fault) ? quoted(report->arena, value) : "", detail);
}

static void add_unknown(struct schema_report *report, const char *words, const char *path)
{
	const char *text;

	if (report->unknown_count == SCHEMA_UNKNOWN_MAX) {
		report->more_unknown++;
		return;
	}
	text = path == NULL
	               ? NULL
	               : pl_arena_printf(report->arena, "%s field \"%s\"", words, path);
	if (text == NULL)
		report->code = PL_NOMEM;
	else
		report->unknown[report->unknown_count++] = pl_span_str(text);
}

void schema_report_unknown(struct schema_report *report, const struct schema_place *place)
{
	add_unknown(report, "unknown", schema_place_path(report->arena, place));
}

void schema_report_twice(struct schema_report *report, const char *path)
{
	add_unknown(report, "duplicate", path);
}

void schema_report_wrong(struct schema_report *report, const char *text)
{
	if (text == NULL)
		report->code = PL_NOMEM;
	else if (report->wrong.len == 0)
		report->wrong = pl_span_str(text);
}

struct pl_span schema_report_strict(struct schema_report *report)
{
	const struct pl_span start = PL_SPAN_LIT("strict decoding error: ");
	size_t size = start.len, len = start.len;
	char *text;

	if (report->unknown_count == 0)
		return (struct pl_span){NULL, 0};
	for (uint32_t i = 0; i < report->unknown_count; i++)
		size += report->unknown[i].len + 2;
	text = pl_arena_alloc(report->arena, size);
	if (text == NULL) {
		report->code = PL_NOMEM;
		return (struct pl_span){NULL, 0};
	}
	memcpy(text, start.at,
	       start.len); /* NOLINT(bugprone-not-null-terminated-result) */
	for (uint32_t i = 0; i < report->unknown_count; i++) {
		if (i > 0) {
			text[len] = ',';
			text[len + 1] = ' ';
			len += 2;
		}
		memcpy(text + len, report->unknown[i].at, report->unknown[i].len);
		len += report->unknown[i].len;
	}
	return pl_span(text, len);
}
