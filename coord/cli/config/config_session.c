#include "coord/cli/config/config_session.h"

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/config/config_diff.h"
#include "store/base/clock.h"

enum { TEXT_MAX = 4 << 20 };

struct config_wait {
	struct pl_arena *arena;
	struct config_found *found;
	uint64_t *version;
	struct pl_err err;
	bool done;
};

static enum pl_code wait_end(struct store_session *session, struct config_wait *waiting,
                             struct pl_err *err)
{
	while (!waiting->done)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	if (waiting->err.code != PL_OK)
		*err = waiting->err;
	return waiting->err.code;
}

/* -- reading --------------------------------------------------------------------- */

static bool keep_span(struct pl_arena *arena, struct pl_span *span)
{
	*span = pl_arena_dup(arena, *span);
	return span->at != NULL || span->len == 0;
}

static bool keep_found(struct config_wait *waiting, const struct config_found *found)
{
	struct config_version *versions =
		pl_arena_zalloc(waiting->arena, found->count + 1, sizeof *versions);

	if (versions == NULL)
		return false;
	for (size_t i = 0; i < found->count; i++) {
		versions[i] = found->versions[i];
		if (!keep_span(waiting->arena, &versions[i].by) ||
		    !keep_span(waiting->arena, &versions[i].why) ||
		    !keep_span(waiting->arena, &versions[i].config))
			return false;
	}
	*waiting->found = *found;
	waiting->found->versions = versions;
	return true;
}

static void on_found(void *ctx, const struct config_found *found,
                     const struct pl_err *err)
{
	struct config_wait *waiting = ctx;

	waiting->done = true;
	if (err != NULL)
		waiting->err = *err;
	else if (!keep_found(waiting, found))
		pl_err_set(&waiting->err, PL_NOMEM, "keep a configuration");
}

enum pl_code config_session_read(struct store_session *session, enum config_name name,
                                 uint64_t version, struct config_found *out,
                                 struct pl_err *err)
{
	struct config_read_opts opts = {
		.name = name, .version = version, .timeout_ms = session->timeout_ms};
	struct config_wait waiting = {.arena = &session->arena, .found = out};
	struct config_read *read;
	enum pl_code code =
		config_read_start(session->kv, &opts, on_found, &waiting, &read, err);

	return code == PL_OK ? wait_end(session, &waiting, err) : code;
}

enum pl_code config_session_history(struct store_session *session, enum config_name name,
                                    uint32_t limit, struct config_found *out,
                                    struct pl_err *err)
{
	struct config_read_opts opts = {
		.name = name, .limit = limit, .timeout_ms = session->timeout_ms};
	struct config_wait waiting = {.arena = &session->arena, .found = out};
	struct config_read *read;
	enum pl_code code =
		config_history_start(session->kv, &opts, on_found, &waiting, &read, err);

	return code == PL_OK ? wait_end(session, &waiting, err) : code;
}

/* -- writing --------------------------------------------------------------------- */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct config_wait *waiting = ctx;

	waiting->done = true;
	if (err != NULL)
		waiting->err = *err;
	else
		*waiting->version = version;
}

enum pl_code config_session_edit(struct store_session *session,
                                 const struct config_session_edit *edit,
                                 uint64_t *version, struct pl_err *err)
{
	struct config_edit_opts opts = {
		.name = edit->name,
		.config = edit->config,
		.by = pl_span_str(session->user),
		.why = pl_span_str(edit->why),
		.at_ms = pl_clock_wall_ms(),
		.expect_version = edit->expect_version,
		.timeout_ms = session->timeout_ms,
		.to_version = edit->to_version,
	};
	struct config_wait waiting = {.version = version};
	struct config_edit *running;
	enum pl_code code = edit->config.len > 0
	                            ? config_edit_start(session->kv, &opts, on_edited,
	                                                &waiting, &running, err)
	                            : config_rollback_start(session->kv, &opts, on_edited,
	                                                    &waiting, &running, err);

	return code == PL_OK ? wait_end(session, &waiting, err) : code;
}

/* -- contents -------------------------------------------------------------------- */

enum pl_code config_session_content(struct store_session *session, enum config_name name,
                                    const struct config_found *found, struct pl_json *out,
                                    struct pl_err *err)
{
	struct config_value value;
	struct pl_buf buf;
	enum pl_code code = PL_OK;

	pl_buf_init(&buf, TEXT_MAX);
	if (found->count > 0 && found->versions[0].config.len > 0) {
		code = pl_buf_add(&buf, found->versions[0].config);
		if (code != PL_OK)
			pl_err_set(err, code, "keep a configuration");
	} else {
		config_default(name, &value);
		code = config_print(&value, &buf, err);
	}
	if (code == PL_OK)
		code = pl_json_parse(&session->arena, pl_buf_span(&buf), NULL, out, err);
	pl_buf_done(&buf);
	return code;
}

/* Every field named. */
static enum pl_code wait_for_answer(struct store_session *session, enum config_name name,
                                    struct pl_json *content, struct pl_err *err)
{
	struct config_value value;
	struct pl_err refused;
	struct pl_buf buf;
	enum pl_code code;

	if (config_parse(name, *content, &session->arena, &value, &refused) != PL_OK)
		return PL_OK;
	pl_buf_init(&buf, TEXT_MAX);
	code = config_print(&value, &buf, err);
	if (code == PL_OK)
		code = pl_json_parse(&session->arena, pl_buf_span(&buf), NULL, content,
		                     err);
	pl_buf_done(&buf);
	return code;
}

enum pl_code config_session_same(struct store_session *session, enum config_name name,
                                 struct pl_json before, struct pl_json after, bool *out,
                                 struct pl_err *err)
{
	enum pl_code code = wait_for_answer(session, name, &before, err);

	if (code == PL_OK)
		code = wait_for_answer(session, name, &after, err);
	if (code == PL_OK && config_same(before, after, out) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "compare");
	return code;
}

enum pl_code config_session_print_diff(struct store_session *session,
                                       enum config_name name, struct pl_json before,
                                       struct pl_json after, struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code = wait_for_answer(session, name, &before, err);

	if (code == PL_OK)
		code = wait_for_answer(session, name, &after, err);
	if (code != PL_OK)
		return code;
	pl_buf_init(&out, TEXT_MAX);
	code = config_diff_text(before, after, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}
