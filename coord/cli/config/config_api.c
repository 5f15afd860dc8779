#include "coord/cli/config/config_api.h"

#include <string.h>

#include "coord/cli/config/config_text.h"
#include "coord/cli/session/api_object.h"
#include "store/base/json_out.h"

#define ROOT "/apis/placet.io/v1"

enum { BODY_MAX = 4 << 20 };

static enum pl_code config_path(enum config_name name, char path[API_PATH_MAX],
                                struct pl_err *err)
{
	return api_path(path, ROOT, (struct pl_span){0}, "configs",
	                pl_span_str(config_name_text(name)), err);
}

/* The schema is ours, so a version that shards refuse is told as one. */
static void check_content(enum config_name name, struct pl_json spec,
                          struct pl_arena *arena, struct config_version *version)
{
	struct config_value value;

	(void)!config_parse(name, spec, arena, &value, &version->refused);
}

static enum pl_code take_version(enum config_name name, struct pl_json object,
                                 struct pl_arena *arena, struct config_found *out,
                                 struct pl_err *err)
{
	struct config_version *version = pl_arena_zalloc(arena, 1, sizeof *version);
	struct pl_json spec = pl_json_member(object, "spec");

	if (version == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a configuration");
	version->version = out->current;
	version->current = true;
	version->by = api_text(object, "status.by");
	version->why = api_text(object, "status.why");
	(void)api_time(object, "status.time", &version->at_ms);
	if (spec.node != NULL &&
	    config_text_print(spec, arena, &version->config, err) != PL_OK)
		return err->code;
	if (spec.node != NULL)
		check_content(name, spec, arena, version);
	out->versions = version;
	out->count = 1;
	return PL_OK;
}

enum pl_code config_api_read(struct api_session *api, enum config_name name,
                             struct pl_arena *arena, struct config_found *out,
                             struct pl_err *err)
{
	struct pl_span malformed;
	char path[API_PATH_MAX];
	struct pl_json object;
	int64_t version;
	enum pl_code code = config_path(name, path, err);

	if (code == PL_OK)
		code = api_session_get(api, path, arena, &object, err);
	if (code != PL_OK)
		return code;
	*out = (struct config_found){0};
	malformed = api_text(object, "status.malformed");
	version = field_int(object, "status.version", 0);
	if (malformed.len > 0) {
		(void)pl_err_set(&out->current_err, PL_INVALID, PL_SPAN_FMT,
		                 PL_SPAN_ARG(malformed));
		return PL_OK;
	}
	out->current = version < 0 ? 0 : (uint64_t)version;
	return out->current == 0 ? PL_OK : take_version(name, object, arena, out, err);
}

/* -- shards ------------------------------------------------------------------------------ */

struct counting {
	struct pl_span name;
	uint64_t version;
	struct config_acceptance *out;
};

static enum pl_code count_shard(void *ctx, struct pl_json shard, struct pl_err *err)
{
	struct counting *counting = ctx;
	const char *name = (const char *)counting->name.at;
	struct pl_json config = field_at(shard, "status.config");

	(void)err;
	if (api_text(shard, "status.malformed").len > 0)
		return PL_OK;
	counting->out->shards++;
	if (pl_json_member(field_at(shard, "status.refused"), name).node != NULL)
		counting->out->refused++;
	else if ((uint64_t)field_int(config, name, 0) == counting->version)
		counting->out->applied++;
	return PL_OK;
}

enum pl_code config_api_acceptance(struct api_session *api, enum config_name name,
                                   uint64_t version, struct config_acceptance *out,
                                   struct pl_err *err)
{
	struct counting counting = {.name = pl_span_str(config_name_text(name)),
	                            .version = version,
	                            .out = out};

	*out = (struct config_acceptance){0};
	return api_session_list(api, ROOT "/shards", (struct pl_span){0}, count_shard,
	                        &counting, err);
}

/* -- writing ------------------------------------------------------------------------------ */

static enum pl_code print_object(struct pl_buf *body, enum config_name name,
                                 struct pl_span config, struct pl_span revision)
{
	struct pl_json_out out;

	pl_json_out_init(&out, body);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "kind");
	pl_json_out_str(&out, "Config");
	pl_json_out_name(&out, "apiVersion");
	pl_json_out_str(&out, "placet.io/v1");
	pl_json_out_name(&out, "metadata");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "name");
	pl_json_out_str(&out, config_name_text(name));
	if (revision.len > 0) {
		pl_json_out_name(&out, "resourceVersion");
		pl_json_out_string(&out, revision);
	}
	pl_json_out_end(&out);
	pl_json_out_name(&out, "spec");
	pl_json_out_raw(&out, config);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

static enum pl_code put_object(struct api_session *api, struct api_request *request,
                               struct pl_arena *arena, uint64_t *version,
                               struct pl_err *err)
{
	struct pl_json answer;
	enum pl_code code = api_session_send(api, request, arena, &answer, err);

	if (code == PL_OK)
		*version = (uint64_t)field_int(answer, "status.version", 0);
	return code;
}

/* The version is read again with its revision, by which the server compares. */
enum pl_code config_api_write(struct api_session *api, enum config_name name,
                              struct pl_span config, int64_t expect, uint64_t *version,
                              struct pl_err *err)
{
	struct api_request request = {.method = "PUT"};
	char path[API_PATH_MAX];
	struct pl_arena arena;
	struct pl_json before;
	struct pl_buf body;
	enum pl_code code = config_path(name, path, err);

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&body, BODY_MAX);
	if (code == PL_OK)
		code = api_session_get(api, path, &arena, &before, err);
	if (code == PL_OK && expect >= 0 &&
	    field_int(before, "status.version", 0) != expect)
		code = pl_err_set(err, PL_CONFLICT, "another version is current");
	if (code == PL_OK &&
	    print_object(&body, name, config,
	                 api_text(before, "metadata.resourceVersion")) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "write a configuration");
	request.path = path;
	request.body = pl_buf_span(&body);
	if (code == PL_OK)
		code = put_object(api, &request, &arena, version, err);
	pl_buf_done(&body);
	pl_arena_done(&arena);
	return code;
}
