/* Pods are decided one after another, and each stays on its node for the next. */
#include "coord/cli/explain/explain_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coord/cli/explain/explain_print.h"
#include "coord/cli/input/objects.h"
#include "coord/cli/output/output.h"
#include "shardsched/decision_log/decision_log.h"
#include "shardsched/model/parse.h"

enum { OUT_MAX = 256 << 20, CONFIG_MAX = 1 << 20, ARENA_CHUNK = 1 << 16 };

static const char *const kind_names[] = {
#define KIND_NAME(kind, name, list) name,
	ENGINE_KIND_MAP(KIND_NAME)};

enum pl_code explain_format_parse(const char *text, enum explain_format *out,
                                  struct pl_err *err)
{
	static const char *const names[] = {
		[EXPLAIN_TEXT] = "text", [EXPLAIN_JSON] = "json", [EXPLAIN_DOT] = "dot"};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(names[i], text) != 0)
			continue;
		*out = (enum explain_format)i;
		return PL_OK;
	}
	return pl_err_set(err, PL_INVALID, "--output %s: want text, json or dot", text);
}

/* -- the cluster --------------------------------------------------------------------- */

static bool kind_of(struct pl_span name, enum engine_kind *out)
{
	for (unsigned i = 0; i < ENGINE_KINDS; i++) {
		if (!pl_span_eq(name, pl_span_str(kind_names[i])))
			continue;
		*out = (enum engine_kind)i;
		return true;
	}
	return false;
}

/* The object as it stands in the log: without line ends. */
static enum pl_code flatten_line(struct explain_job *job, struct pl_span json,
                                 struct pl_span *out, struct pl_err *err)
{
	job->one_line.len = 0;
	if (pl_buf_add(&job->one_line, json) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "record");
	/* Line ends are white space outside of strings, and can not be inside. */
	for (size_t i = 0; i < job->one_line.len; i++)
		if (job->one_line.at[i] == '\n' || job->one_line.at[i] == '\r')
			job->one_line.at[i] = ' ';
	*out = pl_buf_span(&job->one_line);
	return PL_OK;
}

static enum pl_code on_object(void *ctx, struct pl_span kind, struct pl_span json,
                              struct pl_err *err)
{
	struct explain_job *job = ctx;
	enum engine_kind which;
	enum pl_code code;

	if (!kind_of(kind, &which)) {
		job->unread++;
		return PL_OK;
	}
	code = engine_put(job->engine, which, json, NULL, err);
	if (code == PL_OK && job->record != NULL)
		code = flatten_line(job, json, &json, err);
	if (code == PL_OK && job->record != NULL &&
	    decision_log_put(&job->log, 0, which, PL_SPAN_LIT(""), json) != PL_OK)
		code = pl_err_set(err, PL_LIMIT, "record: the log is too long");
	return code;
}

/* -- the pods in question ------------------------------------------------------------ */

static enum pl_code print_json(const struct explain *explain, struct pl_buf *out,
                               struct pl_err *err)
{
	struct pl_json_out json;
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, OUT_MAX);
	pl_json_out_init(&json, &text);
	explain_json(explain, &json);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		code = output_document(OUTPUT_JSON, pl_buf_span(&text), out, err);
	pl_buf_done(&text);
	return code;
}

static enum pl_code print_text(const struct explain_job *job,
                               const struct explain *explain, struct pl_buf *out)
{
	enum pl_code code = PL_OK;

	if (job->pods > 1)
		code = pl_buf_add_str(out, "\n");
	return code == PL_OK ? explain_print(explain, out) : code;
}

static enum pl_code print_explanation(struct explain_job *job,
                                      const struct explain *explain, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	switch (job->format) {
	case EXPLAIN_TEXT:
		code = print_text(job, explain, &job->out);
		break;
	case EXPLAIN_JSON:
		return print_json(explain, &job->out, err);
	case EXPLAIN_DOT:
		code = explain_dot(explain, &job->out);
		break;
	}
	return code == PL_OK ? code : pl_err_set(err, code, "print the explanation");
}

static enum pl_code log_decision(struct explain_job *job, struct pl_span json,
                                 const struct engine_decision *decision, bool assumed,
                                 struct pl_err *err)
{
	struct logged_decision decided = {.decision = decision, .assumed = assumed};
	enum pl_code code = flatten_line(job, json, &decided.json, err);

	if (code == PL_OK &&
	    decision_log_decided(&job->log, job->engine, &decided) != PL_OK)
		code = pl_err_set(err, PL_LIMIT, "record: the log is too long");
	return code;
}

static enum pl_code explain_pod(struct explain_job *job, const struct pod *pod,
                                struct pl_span json, struct pl_err *err)
{
	struct engine_decision decision;
	struct explain explain;
	bool placed;
	enum pl_code code = engine_decide(job->engine, pod, &decision, err);

	if (code != PL_OK)
		return code;
	job->pods++;
	placed = !decision.gated && decision.outcome.result == CYCLE_NODE;
	job->nowhere += !placed;
	explain_make(job->engine, pod, &decision, &explain);
	code = print_explanation(job, &explain, err);
	if (code == PL_OK && job->record != NULL)
		code = log_decision(job, json, &decision, placed, err);
	if (code == PL_OK && placed)
		code = engine_assume(job->engine, pod, decision.outcome.node, NULL, err);
	return code;
}

static enum pl_code on_subject(void *ctx, struct pl_span kind, struct pl_span json,
                               struct pl_err *err)
{
	struct explain_job *job = ctx;
	struct field_errors errors;
	struct parse parse = {.model = engine_model(job->engine),
	                      .arena = &job->arena,
	                      .errors = &errors};
	struct pod pod;
	enum pl_code code;

	if (!pl_span_eq(kind, PL_SPAN_LIT("Pod")) && kind.len > 0)
		return on_object(ctx, kind, json, err);
	pl_arena_reset(&job->arena);
	code = pod_parse(&parse, json, &pod, err);
	if (code != PL_OK)
		return code;
	if (pod.node != 0)
		code = pl_err_set(err, PL_INVALID,
		                  "spec.nodeName: it is on a node already; what is to be "
		                  "explained is where it would go without that");
	if (code == PL_OK)
		code = explain_pod(job, &pod, json, err);
	pod_drop(parse.model, &pod);
	return code;
}

/* -- all of it ----------------------------------------------------------------------- */

static enum pl_code on_config(void *ctx, struct pl_span json, struct pl_err *err)
{
	struct explain_job *job = ctx;

	if (job->config_json.len > 0)
		return pl_err_set(err, PL_INVALID, "more than one document");
	return pl_buf_add(&job->config_json, json);
}

static enum pl_code on_config_object(void *ctx, struct pl_span kind, struct pl_span json,
                                     struct pl_err *err)
{
	(void)kind;
	return on_config(ctx, json, err);
}

static enum pl_code open_engine(struct explain_job *job, struct pl_err *err)
{
	struct engine_opts opts = {.seed = (uint64_t)job->seed,
	                           .keep_scores = true,
	                           .keep_candidates = true};
	enum pl_code code = PL_OK;

	if (job->config != NULL)
		code = objects_read(job->config, on_config_object, job, err);
	if (code != PL_OK)
		return code;
	opts.config = pl_buf_span(&job->config_json);
	code = engine_new(&opts, &job->engine, err);
	if (code == PL_OK && job->record != NULL &&
	    decision_log_begin(&job->log, opts.seed, opts.config) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "record");
	return code;
}

static enum pl_code write_log(const struct explain_job *job, struct pl_err *err)
{
	FILE *file = fopen(job->record, "we");
	bool good = file != NULL &&
	            fwrite(job->log.at, 1, job->log.len, file) == job->log.len;

	if (file != NULL && fclose(file) != 0)
		good = false;
	if (good)
		return PL_OK;
	return pl_err_set(err, PL_IO, "write %s: %s", job->record, strerror(errno));
}

enum pl_code explain_job_run(struct explain_job *job, struct pl_err *err)
{
	enum pl_code code;

	pl_arena_init(&job->arena, ARENA_CHUNK, 0);
	pl_buf_init(&job->config_json, CONFIG_MAX);
	pl_buf_init(&job->out, OUT_MAX);
	pl_buf_init(&job->log, OUT_MAX);
	pl_buf_init(&job->one_line, OUT_MAX);
	code = open_engine(job, err);

	for (unsigned i = 0; code == PL_OK && i < job->cluster_count; i++)
		code = objects_read(job->clusters[i], on_object, job, err);
	for (unsigned i = 0; code == PL_OK && i < job->subject_count; i++)
		code = objects_read(job->subjects[i], on_subject, job, err);
	if (code != PL_OK)
		return code;
	if (job->pods == 0)
		return pl_err_set(err, PL_INVALID, "-f: there is no pod in it");
	return job->record == NULL ? PL_OK : write_log(job, err);
}

void explain_job_done(struct explain_job *job)
{
	engine_free(job->engine);
	pl_buf_done(&job->one_line);
	pl_buf_done(&job->log);
	pl_buf_done(&job->out);
	pl_buf_done(&job->config_json);
	pl_arena_done(&job->arena);
}
