#include "coord/api/reply/status.h"
#include "store/base/json_put.h"

static void write_str(struct pl_json_out *out, const char *name, const char *value)
{
	if (value == NULL || value[0] == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_str(out, value);
}

static void write_causes(struct pl_json_out *out, const struct api_status *status)
{
	if (status->cause_count == 0)
		return;
	pl_json_out_name(out, "causes");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < status->cause_count; i++) {
		pl_json_out_object(out);
		write_str(out, "reason", status->causes[i].type);
		pl_json_put_text(out, "message", status->causes[i].message);
		pl_json_put_text(out, "field", status->causes[i].field);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void write_details(struct pl_json_out *out, const struct api_status *status)
{
	if (!status->has_details)
		return;
	pl_json_out_name(out, "details");
	pl_json_out_object(out);
	pl_json_put_text(out, "name", status->about.name);
	write_str(out, "group", status->about.group);
	write_str(out, "kind", status->about.resource);
	pl_json_put_text(out, "uid", status->uid);
	write_causes(out, status);
	if (status->retry_after_s > 0) {
		pl_json_out_name(out, "retryAfterSeconds");
		pl_json_out_int(out, status->retry_after_s);
	}
	pl_json_out_end(out);
}

void status_write(struct pl_json_out *out, const struct api_status *status)
{
	pl_json_out_object(out);
	write_str(out, "kind", "Status");
	write_str(out, "apiVersion", "v1");
	pl_json_out_name(out, "metadata");
	pl_json_out_object(out);
	pl_json_put_text(out, "continue", status->continue_token);
	pl_json_out_end(out);
	write_str(out, "status", status->reason == NULL ? "Success" : "Failure");
	pl_json_put_text(out, "message", status->message);
	write_str(out, "reason", status->reason);
	write_details(out, status);
	if (status->code > 0) {
		pl_json_out_name(out, "code");
		pl_json_out_int(out, status->code);
	}
	pl_json_out_end(out);
}
