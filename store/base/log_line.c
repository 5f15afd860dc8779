#include "store/base/log_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "store/base/json_out.h"
#include "store/base/num.h"
#include "store/base/utf8.h"

/* CLOCK_AT: the position of hh:mm:ss.mmm */
enum { TIME_SIZE = 80, CLOCK_AT = 11, CLOCK_LEN = 12 };

static const char colour_off[] = "\x1b[0m";

static const struct look {
	const char *tag;
	const char *colour;
} looks[] = {
	[PL_LOG_DEBUG] = {"DEBUG", "\x1b[2m"}, [PL_LOG_INFO] = {"INFO ", "\x1b[32m"},
	[PL_LOG_WARN] = {"WARN ", "\x1b[33m"}, [PL_LOG_ERROR] = {"ERROR", "\x1b[31m"},
	[PL_LOG_OFF] = {"OFF  ", ""},
};

static const char *print_time(int64_t wall_ms, char out[TIME_SIZE])
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm = {0};

	(void)gmtime_r(&seconds, &tm);
	(void)snprintf(out, TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
	               tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
	               tm.tm_min, tm.tm_sec, (int)(wall_ms % 1000));
	return out;
}

/* Cuts between characters only. */
static struct pl_span cut_text(struct pl_span text)
{
	if (text.len <= PL_LOG_VALUE_MAX)
		return text;
	text.len = PL_LOG_VALUE_MAX;
	while (text.len > PL_LOG_VALUE_MAX - 4 && (text.at[text.len] & 0xc0) == 0x80)
		text.len--;
	return text;
}

static struct pl_span secret_text(struct pl_span secret)
{
	return secret.len == 0 ? PL_SPAN_LIT("(none)") : PL_SPAN_LIT("(secret)");
}

/* For example "deadline exceeded: after 5 ms". */
static struct pl_span err_text(const struct pl_err *err, char *out, size_t size)
{
	int len = snprintf(out, size, "%s%s%s", pl_code_name(err->code),
	                   err->msg[0] == 0 ? "" : ": ", err->msg);

	return pl_span(out, (size_t)len < size ? (size_t)len : size - 1);
}

static void json_field(struct pl_json_out *out, const struct pl_log_field *field)
{
	char key[64], text[PL_ERR_MSG_SIZE + 64];

	if (field->kind == PL_LOG_KIND_ERR) {
		(void)snprintf(key, sizeof key, "%s_code", field->key);
		pl_json_out_name(out, key);
		pl_json_out_str(out, pl_code_name(field->err->code));
	}
	pl_json_out_name(out, field->key);
	switch (field->kind) {
	case PL_LOG_KIND_INT:
		pl_json_out_int(out, field->number);
		break;
	case PL_LOG_KIND_UINT:
		(void)pl_num_print_u64(text, field->count);
		if (field->count <= INT64_MAX)
			pl_json_out_int(out, (int64_t)field->count);
		else
			pl_json_out_str(out, text);
		break;
	case PL_LOG_KIND_DOUBLE:
		if (isfinite(field->real))
			pl_json_out_double(out, field->real);
		else
			pl_json_out_null(out);
		break;
	case PL_LOG_KIND_BOOL:
		pl_json_out_bool(out, field->truth);
		break;
	case PL_LOG_KIND_TEXT:
		pl_json_out_string(out, cut_text(field->text));
		break;
	case PL_LOG_KIND_SECRET:
		pl_json_out_string(out, secret_text(field->text));
		break;
	case PL_LOG_KIND_ERR:
		pl_json_out_string(out, err_text(field->err, text, sizeof text));
		break;
	case PL_LOG_KIND_NONE:
		pl_json_out_null(out);
		break;
	}
}

enum pl_code pl_log_line_json(struct pl_buf *buf, const struct pl_log_event *event)
{
	struct pl_json_out out;
	char time[TIME_SIZE];

	pl_json_out_init(&out, buf);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "ts");
	pl_json_out_str(&out, print_time(event->wall_ms, time));
	pl_json_out_name(&out, "level");
	pl_json_out_str(&out, pl_log_level_name(event->level));
	pl_json_out_name(&out, "event");
	pl_json_out_str(&out, event->name);
	for (unsigned i = 0; i < event->count; i++)
		json_field(&out, &event->fields[i]);
	if (event->suppressed > 0) {
		const struct pl_log_field field =
			pl_log_uint("suppressed", event->suppressed);

		json_field(&out, &field);
	}
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

static bool is_bare(struct pl_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] <= ' ' || text.at[i] >= 0x7f || text.at[i] == '"' ||
		    text.at[i] == '\\' || text.at[i] == '=')
			return false;
	return text.len > 0;
}

/* Bytes that move a terminal's cursor, or are no character, become \xNN. */
static enum pl_code text_quoted(struct pl_buf *buf, struct pl_span text)
{
	enum pl_code code = pl_buf_add_str(buf, "\"");

	while (text.len > 0 && code == PL_OK) {
		size_t len = pl_utf8_char(text.at, text.len);
		uint8_t byte = text.at[0];
		bool c1 = len == 2 && byte == 0xc2 && text.at[1] < 0xa0;

		if (byte == '"' || byte == '\\')
			code = pl_buf_printf(buf, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f || len == 0 || c1)
			code = pl_buf_printf(buf, "\\x%02x", byte);
		else
			code = pl_buf_add(buf, pl_span(text.at, len));
		len = len == 0 || c1 ? 1 : len;
		text = pl_span(text.at + len, text.len - len);
	}
	return code == PL_OK ? pl_buf_add_str(buf, "\"") : code;
}

static enum pl_code text_value(struct pl_buf *buf, struct pl_span text)
{
	text = cut_text(text);
	return is_bare(text) ? pl_buf_add(buf, text) : text_quoted(buf, text);
}

static enum pl_code text_field(struct pl_buf *buf, const struct pl_log_field *field)
{
	char text[PL_ERR_MSG_SIZE + 64];

	switch (field->kind) {
	case PL_LOG_KIND_INT:
		return pl_buf_add(buf,
		                  pl_span(text, pl_num_print_i64(text, field->number)));
	case PL_LOG_KIND_UINT:
		return pl_buf_add(buf,
		                  pl_span(text, pl_num_print_u64(text, field->count)));
	case PL_LOG_KIND_DOUBLE:
		return pl_buf_printf(buf, "%.6g", field->real);
	case PL_LOG_KIND_BOOL:
		return pl_buf_add_str(buf, field->truth ? "true" : "false");
	case PL_LOG_KIND_TEXT:
		return text_value(buf, field->text);
	case PL_LOG_KIND_SECRET:
		return pl_buf_add(buf, secret_text(field->text));
	case PL_LOG_KIND_ERR:
		return text_value(buf, err_text(field->err, text, sizeof text));
	case PL_LOG_KIND_NONE:
		return pl_buf_add_str(buf, "null");
	}
	PL_UNREACHABLE("log field");
}

enum pl_code pl_log_line_text(struct pl_buf *buf, const struct pl_log_event *event,
                              bool colour)
{
	const struct look *look = &looks[event->level];
	char time[TIME_SIZE];
	enum pl_code code;

	(void)print_time(event->wall_ms, time);
	code = pl_buf_printf(buf, "%.*s %s%s%s %s", CLOCK_LEN, time + CLOCK_AT,
	                     colour ? look->colour : "", look->tag,
	                     colour ? colour_off : "", event->name);
	for (unsigned i = 0; i < event->count && code == PL_OK; i++) {
		code = pl_buf_printf(buf, " %s=", event->fields[i].key);
		if (code == PL_OK)
			code = text_field(buf, &event->fields[i]);
	}
	if (event->suppressed > 0 && code == PL_OK)
		code = pl_buf_printf(buf, " suppressed=%" PRIu64, event->suppressed);
	return code;
}
