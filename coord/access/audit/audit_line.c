#include "coord/access/audit/audit_line.h"

#include "store/base/json_out.h"
#include "store/base/timestamp.h"

static struct pl_span cut(struct pl_span text)
{
	if (text.len > AUDIT_TEXT_MAX)
		text.len = AUDIT_TEXT_MAX;
	return text;
}

static void add_text(struct pl_json_out *out, const char *name, struct pl_span text)
{
	if (text.len == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_string(out, cut(text));
}

static void add_time(struct pl_json_out *out, int64_t at_ms)
{
	char text[PL_TIMESTAMP_SIZE];

	pl_timestamp_print(at_ms, text);
	add_text(out, "time", pl_span_str(text));
}

static void add_identity(struct pl_json_out *out, const struct identity *identity)
{
	size_t shown = identity->group_count;

	pl_json_out_name(out, "user");
	pl_json_out_string(out, cut(identity->user));
	add_text(out, "uid", identity->uid);
	if (shown > AUDIT_GROUPS_MAX)
		shown = AUDIT_GROUPS_MAX;
	pl_json_out_name(out, "groups");
	pl_json_out_array(out);
	for (size_t i = 0; i < shown; i++)
		pl_json_out_string(out, cut(identity->groups[i]));
	pl_json_out_end(out);
	if (shown < identity->group_count) {
		pl_json_out_name(out, "groups_more");
		pl_json_out_int(out, (int64_t)(identity->group_count - shown));
	}
	add_text(out, "via", pl_span_str(identity_via_name(identity->via)));
	add_text(out, "credential", identity->credential);
}

static void add_asked(struct pl_json_out *out, const struct access_attributes *asked)
{
	pl_json_out_name(out, "verb");
	pl_json_out_string(out, cut(asked->verb));
	if (!asked->is_resource) {
		add_text(out, "path", asked->path);
		return;
	}
	add_text(out, "group", asked->group);
	add_text(out, "resource", asked->resource);
	add_text(out, "subresource", asked->subresource);
	add_text(out, "namespace", asked->namespace);
	add_text(out, "name", asked->name);
}

static enum pl_code end_line(struct pl_json_out *json, struct pl_buf *out)
{
	enum pl_code code;

	pl_json_out_end(json);
	code = pl_json_out_done(json);
	return code == PL_OK ? pl_buf_add_str(out, "\n") : code;
}

static void begin_line(struct pl_json_out *json, int64_t at_ms, struct pl_buf *out)
{
	pl_json_out_init(json, out);
	pl_json_out_object(json);
	pl_json_out_name(json, "v");
	pl_json_out_int(json, 1);
	add_time(json, at_ms);
}

enum pl_code audit_line(const struct audit_event *event, struct pl_buf *out)
{
	const struct identity unknown = {.user = pl_span("", 0)};
	struct pl_json_out json;

	begin_line(&json, event->at_ms, out);
	add_text(&json, "id", event->id);
	add_identity(&json, event->user == NULL ? &unknown : event->user);
	if (event->impersonator != NULL) {
		pl_json_out_name(&json, "impersonator");
		pl_json_out_object(&json);
		add_identity(&json, event->impersonator);
		pl_json_out_end(&json);
	}
	add_asked(&json, event->asked);
	add_text(&json, "source", event->source);
	add_text(&json, "agent", event->agent);
	pl_json_out_name(&json, "code");
	pl_json_out_int(&json, event->code);
	add_text(&json, "reason", event->reason);
	pl_json_out_name(&json, "duration_us");
	pl_json_out_int(&json, (int64_t)event->duration_us);
	return end_line(&json, out);
}

enum pl_code audit_dropped_line(int64_t at_ms, uint64_t count, struct pl_buf *out)
{
	struct pl_json_out json;

	begin_line(&json, at_ms, out);
	pl_json_out_name(&json, "dropped");
	pl_json_out_int(&json, (int64_t)count);
	return end_line(&json, out);
}
