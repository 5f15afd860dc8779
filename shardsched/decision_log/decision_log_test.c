#include <stdio.h>
#include <string.h>

#include "shardsched/decision_log/decision_log.h"
#include "shardsched/model/parse.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

enum { LOG_MAX = 16 << 20, NODES = 12, STEPS = 400 };

static struct engine *engine;
static struct pl_arena arena;
static struct pl_buf text;
static struct pl_err err;
static uint64_t revision;

static void open_log(uint64_t seed)
{
	struct engine_opts opts = {.seed = seed, .keep_scores = true};

	pl_buf_init(&text, LOG_MAX);
	pl_arena_init(&arena, 0, 0);
	T_OK(engine_new(&opts, &engine, &err), &err);
	T_OK(decision_log_begin(&text, seed, (struct pl_span){0}), NULL);
}

static void close_log(void)
{
	engine_free(engine);
	engine = NULL;
	pl_arena_done(&arena);
	pl_buf_done(&text);
}

static void put(enum engine_kind kind, const char *json)
{
	struct pl_span span = pl_span_str(json);

	T_OK(engine_put(engine, kind, span, NULL, &err), &err);
	T_OK(decision_log_put(&text, ++revision, kind, PL_SPAN_LIT(""), span), NULL);
}

static void put_node(unsigned i, unsigned cpu)
{
	char json[512];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"zone\":\"z%u\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"64Gi\","
	               "\"pods\":\"20\"}}}",
	               i, i % 3, cpu);
	put(ENGINE_NODE, json);
}

/* Decides, records, assumes. */
static void decide(const char *json)
{
	struct parse parse = {.model = engine_model(engine), .arena = &arena};
	struct logged_decision decided = {.revision = ++revision,
	                                  .json = pl_span_str(json)};
	struct engine_decision decision;
	struct pod pod;

	T_OK(pod_parse(&parse, decided.json, &pod, &err), &err);
	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
	decided.decision = &decision;
	decided.assumed = !decision.gated && decision.outcome.result == CYCLE_NODE;
	T_OK(decision_log_decided(&text, engine, &decided), NULL);
	if (decided.assumed)
		T_OK(engine_assume(engine, &pod, decision.outcome.node, NULL, &err),
		     &err);
	pod_drop(parse.model, &pod);
	pl_arena_reset(&arena);
}

static void decide_some(unsigned i, unsigned cpu, const char *more)
{
	char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\",\"uid\":"
	               "\"u%u\",\"labels\":{\"app\":\"a%u\"}},\"spec\":{\"priority\":%u,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"%um\",\"memory\":\"1Gi\"}}}]%s}}",
	               i, i, i % 4, i % 3, cpu, more);
	decide(json);
}

static void random_history(uint64_t seed)
{
	struct pl_rng rng;

	pl_rng_init(&rng, seed);
	open_log(seed);
	for (unsigned i = 0; i < NODES; i++)
		put_node(i, 4 + i % 3 * 4);
	for (unsigned i = 0; i < STEPS; i++) {
		static const char *const more[] = {
			"", ",\"nodeSelector\":{\"zone\":\"z1\"}",
			",\"schedulingGates\":[{\"name\":\"g\"}]",
			",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
			"\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
			"\"labelSelector\":{\"matchLabels\":{\"app\":\"a1\"}}}]"};

		if (pl_rng_chance(&rng, 1, 20))
			put_node((unsigned)pl_rng_below(&rng, NODES),
			         (unsigned)pl_rng_between(&rng, 2, 16));
		decide_some(i, (unsigned)pl_rng_between(&rng, 1, 12) * 100,
		            more[pl_rng_below(&rng, 4)]);
	}
}

/* How many differ; line_end: the last line that may be read. */
static enum pl_code replay(struct pl_span log, struct replay_figures *figures)
{
	struct replay *it;
	enum pl_code code = replay_new(&it, &err);

	if (code != PL_OK)
		return code;
	while (code == PL_OK && log.len > 0) {
		const uint8_t *end = memchr(log.at, '\n', log.len);
		size_t len = end == NULL ? log.len : (size_t)(end - log.at);
		struct pl_span again;

		code = replay_line(it, pl_span(log.at, len), &again, &err);
		log = pl_span(log.at + len, log.len - len);
		if (log.len > 0)
			log = pl_span(log.at + 1, log.len - 1);
	}
	replay_figures(it, figures);
	replay_free(it);
	return code;
}

T_CASE(replay_gives_the_same_log_byte_for_byte)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct replay_figures figures;

		random_history(seed);
		T_OK(replay(pl_buf_span(&text), &figures), &err);
		T_EQ(figures.decisions, STEPS);
		T_EQ(figures.differ, 0);
		close_log();
	}
}

T_CASE(replay_finds_a_decision_that_differs)
{
	struct replay_figures figures;
	char *at;

	open_log(1);
	put_node(0, 4);
	put_node(1, 4);
	decide_some(0, 100, "");
	T_OK(pl_buf_add(&text, PL_SPAN_LIT("\0")), NULL);
	text.len--;
	at = strstr((char *)text.at, "\"total\":");
	T_TRUE(at != NULL);
	at[strlen("\"total\":")]++;
	T_OK(replay(pl_buf_span(&text), &figures), &err);
	T_EQ(figures.differ, 1);
	close_log();
}

T_CASE(replay_drops_what_was_dropped)
{
	struct replay_figures figures;

	open_log(1);
	put_node(0, 4);
	put_node(1, 4);
	T_OK(engine_drop(engine, ENGINE_NODE, PL_SPAN_LIT(""), PL_SPAN_LIT("n0"), &err),
	     &err);
	T_OK(decision_log_drop(&text, ++revision, ENGINE_NODE, PL_SPAN_LIT(""),
	                       PL_SPAN_LIT("n0")),
	     NULL);
	decide_some(0, 100, "");
	T_OK(replay(pl_buf_span(&text), &figures), &err);
	T_EQ(figures.decisions, 1);
	T_EQ(figures.differ, 0);
	close_log();
}

static void refused(const char *log, const char *want)
{
	struct replay_figures figures;

	T_CODE(replay(pl_span_str(log), &figures), PL_INVALID, NULL);
	if (strstr(err.msg, want) == NULL)
		T_STR(err.msg, want);
}

T_CASE(broken_lines_are_refused_with_their_field)
{
#define HEAD "{\"kind\":\"Record\",\"v\":1,\"seed\":\"1\"}\n"
	refused("{\"kind\":\"Put\"}", "kind");
	refused(HEAD HEAD, "kind");
	refused("{\"kind\":\"Record\",\"v\":2,\"seed\":\"1\"}", "v");
	refused("{\"kind\":\"Record\",\"v\":1,\"seed\":\"x\"}", "seed");
	refused("{\"kind\":\"Record\",\"v\":1,\"seed\":\"1\",\"more\":1}", "more");
	refused(HEAD "{\"kind\":\"Nothing\"}", "kind");
	refused(HEAD "{\"kind\":\"Put\",\"revision\":\"1\",\"object\":\"Moon\","
	             "\"value\":{}}",
	        "object");
	refused(HEAD "{\"kind\":\"Put\",\"revision\":\"1\",\"object\":\"Node\","
	             "\"value\":7}",
	        "value");
	refused(HEAD "{\"kind\":\"Decision\",\"revision\":\"1\",\"draw\":\"0\"}",
	        "assumed");
}

static enum pl_code small_replay(void)
{
	struct replay_figures figures;

	return replay(pl_buf_span(&text), &figures);
}

T_CASE(without_memory_it_says_so)
{
	open_log(1);
	put_node(0, 4);
	put_node(1, 8);
	decide_some(0, 100, "");
	/* Without memory the class cache is not used. */
	t_torture(small_replay, true);
	close_log();
}
