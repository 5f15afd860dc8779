#include "coord/cli/config/config_session.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_wait.h"
#include "store/base/clock.h"

enum { DIFF_MAX = 4 << 20 };

struct config_wait {
	struct pl_arena *arena;
	struct config_found *found;
	uint64_t *version;
	struct cli_wait wait;
};

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

	cli_wait_end(&waiting->wait, err);
	if (err == NULL && !keep_found(waiting, found))
		pl_err_set(&waiting->wait.err, PL_NOMEM, "keep a configuration");
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

	return code == PL_OK ? cli_wait_for(session, &waiting.wait, err) : code;
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

	return code == PL_OK ? cli_wait_for(session, &waiting.wait, err) : code;
}

/* -- writing --------------------------------------------------------------------- */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct config_wait *waiting = ctx;

	cli_wait_end(&waiting->wait, err);
	if (err == NULL)
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

	return code == PL_OK ? cli_wait_for(session, &waiting.wait, err) : code;
}

/* -- contents -------------------------------------------------------------------- */

enum pl_code config_session_versions(struct store_session *session, enum config_name name,
                                     struct config_versions *out, struct pl_err *err)
{
	struct config_found history;
	enum pl_code code = config_session_history(session, name, 0, &history, err);

	return code == PL_OK ? config_versions_of(name, &history, out, err) : code;
}

enum pl_code config_session_content(struct store_session *session, enum config_name name,
                                    uint64_t version, struct pl_json *out,
                                    struct pl_err *err)
{
	struct config_found found = {0};
	enum pl_code code = PL_OK;

	if (version != 0)
		code = config_session_read(session, name, version, &found, err);
	if (code != PL_OK)
		return code;
	if (version != 0 && (found.count == 0 || found.versions[0].config.len == 0))
		return pl_err_set(
			err, PL_INVALID, "version %" PRIu64 " of %s can not be read: %s",
			version, config_name_text(name),
			found.count == 0 ? "it is empty" : found.versions[0].refused.msg);
	return config_content(name, &found, &session->arena, out, err);
}

enum pl_code config_print_diff(enum config_name name, struct pl_json before,
                               struct pl_json after, struct pl_arena *arena,
                               struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, DIFF_MAX);
	code = config_content_diff(name, before, after, arena, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

enum pl_code config_session_print_diff(struct store_session *session,
                                       enum config_name name, struct pl_json before,
                                       struct pl_json after, struct pl_err *err)
{
	return config_print_diff(name, before, after, &session->arena, err);
}
