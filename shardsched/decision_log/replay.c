/*
 * Replay: each line is applied to a fresh engine, and each decision is made again.
 */
#include <stdlib.h>
#include <string.h>

#include "shardsched/decision_log/decision_log.h"
#include "shardsched/model/object.h"
#include "shardsched/model/parse.h"
#include "store/base/alloc.h"

static const char *const kind_names[] = {
#define KIND_NAME(kind, name, list) name,
	ENGINE_KIND_MAP(KIND_NAME)};

struct replay {
	struct engine *engine; /* NULL until the first line */
	struct pl_arena arena;
	struct pl_buf again;
	struct replay_figures figures;
};

static const struct pl_json_limits limits = {
	.bytes = DECISION_LOG_LINE_MAX,
	.depth = PL_JSON_DEPTH_MAX,
	.values = 1000000,
};

enum pl_code replay_new(struct replay **out, struct pl_err *err)
{
	struct replay *replay = pl_calloc(1, sizeof *replay);

	if (replay == NULL)
		return pl_err_set(err, PL_NOMEM, "replay decisions");
	pl_arena_init(&replay->arena, 1 << 16, 0);
	pl_buf_init(&replay->again, DECISION_LOG_LINE_MAX + (1 << 20));
	*out = replay;
	return PL_OK;
}

void replay_free(struct replay *replay)
{
	if (replay == NULL)
		return;
	engine_free(replay->engine);
	pl_buf_done(&replay->again);
	pl_arena_done(&replay->arena);
	free(replay);
}

void replay_figures(const struct replay *replay, struct replay_figures *out)
{
	*out = replay->figures;
}

/* -- fields -------------------------------------------------------------------------- */

/* A number in a string: all 64 bits are used. */
static enum pl_code read_number(struct pl_json line, const char *name, uint64_t *out,
                                struct pl_err *err)
{
	const char *text = "";
	char *end;
	enum pl_code code = pl_json_string(line, name, PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	*out = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != 0 || strlen(text) > 20)
		return pl_json_fail(pl_json_member(line, name), PL_INVALID, err,
		                    "want a number in a string");
	return PL_OK;
}

static enum pl_code read_kind(struct pl_json line, enum engine_kind *out,
                              struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(line, "object", PL_JSON_REQUIRED, &text, err);

	if (code != PL_OK)
		return code;
	for (unsigned i = 0; i < ENGINE_KINDS; i++) {
		if (strcmp(kind_names[i], text) != 0)
			continue;
		*out = (enum engine_kind)i;
		return PL_OK;
	}
	return pl_json_fail(pl_json_member(line, "object"), PL_INVALID, err,
	                    "no such kind of object");
}

static enum pl_code read_text(struct pl_json line, const char *name,
                              enum pl_json_need need, struct pl_span *out,
                              struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(line, name, need, &text, err);

	*out = pl_span_str(text);
	return code;
}

/* The object as it stands in the line. */
static enum pl_code read_object(struct pl_json line, struct pl_span text,
                                const char *name, struct pl_span *out, struct pl_err *err)
{
	struct pl_json object;
	enum pl_code code = pl_json_object(line, name, PL_JSON_REQUIRED, &object, err);

	if (code == PL_OK)
		*out = object_member(text, name);
	return code;
}

/* -- lines --------------------------------------------------------------------------- */

static enum pl_code replay_begin(struct replay *replay, struct pl_json line,
                                 struct pl_span text, struct pl_err *err)
{
	static const char *const known[] = {"kind", "v", "seed", "config", NULL};
	struct engine_opts opts = {.no_cache = true};
	int64_t version = 0;
	enum pl_code code = pl_json_only(line, known, err);

	if (code == PL_OK)
		code = pl_json_int(line, "v", PL_JSON_REQUIRED, &version, err);
	if (code == PL_OK && version != 1)
		code = pl_json_fail(pl_json_member(line, "v"), PL_INVALID, err, "want 1");
	if (code == PL_OK)
		code = read_number(line, "seed", &opts.seed, err);
	if (code != PL_OK)
		return code;
	opts.config = object_member(text, "config");
	return engine_new(&opts, &replay->engine, err);
}

static enum pl_code replay_put(struct replay *replay, struct pl_json line,
                               struct pl_span text, struct pl_err *err)
{
	static const char *const known[] = {"kind",    "revision", "object",
	                                    "cluster", "value",    NULL};
	enum engine_kind kind = ENGINE_NODE;
	struct pl_span cluster, value = {0};
	enum pl_code code = pl_json_only(line, known, err);

	if (code == PL_OK)
		code = read_kind(line, &kind, err);
	if (code == PL_OK)
		code = read_text(line, "cluster", PL_JSON_OPTIONAL, &cluster, err);
	if (code == PL_OK)
		code = read_object(line, text, "value", &value, err);
	if (code != PL_OK)
		return code;
	return engine_put_in(replay->engine, kind, cluster, value, NULL, err);
}

static enum pl_code replay_drop(struct replay *replay, struct pl_json line,
                                struct pl_err *err)
{
	static const char *const known[] = {"kind",  "revision", "object",
	                                    "space", "name",     NULL};
	enum engine_kind kind = ENGINE_NODE;
	struct pl_span namespace, name = {0};
	enum pl_code code = pl_json_only(line, known, err);

	if (code == PL_OK)
		code = read_kind(line, &kind, err);
	if (code == PL_OK)
		code = read_text(line, "space", PL_JSON_OPTIONAL, &namespace, err);
	if (code == PL_OK)
		code = read_text(line, "name", PL_JSON_REQUIRED, &name, err);
	if (code != PL_OK)
		return code;
	return engine_drop(replay->engine, kind, namespace, name, err);
}

struct replay_query {
	struct logged_decision decided;
	uint64_t draw;
};

static enum pl_code read_decision(struct pl_json line, struct pl_span text,
                                  struct replay_query *out, struct pl_err *err)
{
	enum pl_code code = read_number(line, "revision", &out->decided.revision, err);

	if (code == PL_OK)
		code = read_number(line, "draw", &out->draw, err);
	if (code == PL_OK)
		code = pl_json_bool(line, "assumed", PL_JSON_REQUIRED,
		                    &out->decided.assumed, err);
	if (code == PL_OK)
		code = read_object(line, text, "pod", &out->decided.json, err);
	return code;
}

static enum pl_code decide_again(struct replay *replay, const struct pod *pod,
                                 const struct replay_query *asked, struct pl_err *err)
{
	struct logged_decision decided = asked->decided;
	struct engine_decision decision;
	enum pl_code code =
		engine_decide_with(replay->engine, pod, asked->draw, &decision, err);

	if (code != PL_OK)
		return code;
	decided.decision = &decision;
	decided.assumed = decided.assumed && !decision.gated &&
	                  decision.outcome.result == CYCLE_NODE;
	code = decision_log_decided(&replay->again, replay->engine, &decided);
	if (code != PL_OK)
		return pl_err_set(err, code, "write a replayed decision");
	if (!decided.assumed)
		return PL_OK;
	return engine_assume(replay->engine, pod, decision.outcome.node, NULL, err);
}

static enum pl_code replay_decision(struct replay *replay, struct pl_json line,
                                    struct pl_span text, struct pl_err *err)
{
	struct parse parse = {.model = engine_model(replay->engine),
	                      .arena = &replay->arena};
	struct replay_query asked = {0};
	struct pod pod;
	enum pl_code code = read_decision(line, text, &asked, err);

	if (code == PL_OK && pod_parse(&parse, asked.decided.json, &pod, err) != PL_OK)
		code = pl_err_wrap(err, "pod");
	if (code != PL_OK)
		return code;
	code = decide_again(replay, &pod, &asked, err);
	pod_drop(parse.model, &pod);
	if (code != PL_OK)
		return code;
	replay->figures.decisions++;
	PL_ASSERT(replay->again.len > 0);
	/* without the line's end */
	replay->again.len--;
	if (pl_span_eq(pl_buf_span(&replay->again), text))
		replay->again.len = 0;
	else
		replay->figures.differ++;
	return PL_OK;
}

static enum pl_code replay_apply(struct replay *replay, struct pl_json line,
                                 struct pl_span text, struct pl_err *err)
{
	const char *kind = "";
	enum pl_code code = pl_json_string(line, "kind", PL_JSON_REQUIRED, &kind, err);

	if (code != PL_OK)
		return code;
	if ((strcmp(kind, "Record") == 0) != (replay->engine == NULL))
		return pl_json_fail(pl_json_member(line, "kind"), PL_INVALID, err,
		                    "want Record first, and once");
	if (strcmp(kind, "Record") == 0)
		return replay_begin(replay, line, text, err);
	if (strcmp(kind, "Put") == 0)
		return replay_put(replay, line, text, err);
	if (strcmp(kind, "Drop") == 0)
		return replay_drop(replay, line, err);
	if (strcmp(kind, "Decision") == 0)
		return replay_decision(replay, line, text, err);
	return pl_json_fail(pl_json_member(line, "kind"), PL_INVALID, err,
	                    "want Record, Put, Drop or Decision");
}

enum pl_code replay_line(struct replay *replay, struct pl_span line,
                         struct pl_span *again, struct pl_err *err)
{
	struct pl_json json;
	enum pl_code code;

	replay->figures.lines++;
	replay->again.len = 0;
	pl_arena_reset(&replay->arena);
	code = pl_json_parse(&replay->arena, line, &limits, &json, err);
	if (code == PL_OK)
		code = replay_apply(replay, json, line, err);
	*again = code == PL_OK ? pl_buf_span(&replay->again) : (struct pl_span){0};
	return code;
}
