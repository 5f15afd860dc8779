/*
 * Every case again, but its cluster comes about in a roundabout way: pods before their
 * nodes, objects that were others before, objects that are there for a while, and a
 * decision now and then, so that everything that is kept up with changes is kept up.
 * In the end the verdicts are those of the cluster put straight, byte for byte; and
 * what the class cache decides is among the best.
 */
#include <stdio.h>

#include "coord/cli/eval/eval_case.h"
#include "coord/cli/eval/eval_verdicts.h"
#include "shardsched/model/object.h"
#include "store/base/json_out.h"
#include "store/base/rng.h"
#include "tests/conformance_k8s/cases.h"
#include "tests/harness/t.h"

enum { OBJECTS_MAX = 4096, TEXT_MAX = 4 << 20 };

struct object {
	struct pl_span json;
	const char *namespace; /* "" */
	const char *name;
	enum engine_kind kind;
};

static struct pl_arena arena;
static struct pl_rng rng;
static struct pl_err err;
static struct object objects[OBJECTS_MAX];
static unsigned count;
static struct eval_case it;
static struct engine *engine;
static struct pod pod;

static struct pl_span print_value(struct pl_json value)
{
	struct pl_json_out out;
	struct pl_buf buf;
	struct pl_span copy;

	pl_buf_init(&buf, TEXT_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	T_OK(pl_json_out_done(&out), NULL);
	copy = pl_arena_dup(&arena, pl_buf_span(&buf));
	T_TRUE(copy.at != NULL);
	pl_buf_done(&buf);
	return copy;
}

static void list_objects(void)
{
#define LIST(kind, name, list) list,
	static const char *const lists[] = {ENGINE_KIND_MAP(LIST)};

	count = 0;
	for (unsigned kind = 0; kind < ENGINE_KINDS; kind++)
		PL_JSON_EACH (item, pl_json_member(it.root, lists[kind])) {
			struct pl_json meta = pl_json_member(item, "metadata");
			struct object *object = &objects[count++];

			T_TRUE(count <= OBJECTS_MAX);
			*object = (struct object){.kind = (enum engine_kind)kind,
			                          .json = print_value(item),
			                          .namespace = "",
			                          .name = ""};
			T_OK(pl_json_string(meta, "namespace", PL_JSON_OPTIONAL,
			                    &object->namespace, &err),
			     &err);
			T_OK(pl_json_string(meta, "name", PL_JSON_REQUIRED, &object->name,
			                    &err),
			     &err);
		}
}

static void shuffle_objects(void)
{
	for (unsigned i = count; i > 1; i--) {
		unsigned j = (unsigned)pl_rng_below(&rng, i);
		struct object object = objects[i - 1];

		objects[i - 1] = objects[j];
		objects[j] = object;
	}
}

static void put_object(const struct object *object, struct pl_span json)
{
	T_OK(engine_put(engine, object->kind, json, NULL, &err), &err);
}

static void drop_object(const struct object *object, const char *name)
{
	T_OK(engine_drop(engine, object->kind, pl_span_str(object->namespace),
	                 pl_span_str(name), &err),
	     &err);
}

/* Another object of that kind, under that name. */
static void put_other(const struct object *object, const char *name)
{
	const struct object *other = &objects[pl_rng_below(&rng, count)];
	char quoted[2][300];
	const struct object_change changes[] = {
		{{"metadata", "name"}, quoted[0]},
		{{"metadata", "namespace"}, quoted[1]},
		{{"metadata", "uid"}, "\"another\""},
	};
	struct pl_buf buf;

	if (other->kind != object->kind)
		other = object;
	(void)snprintf(quoted[0], sizeof quoted[0], "\"%s\"", name);
	(void)snprintf(quoted[1], sizeof quoted[1], "\"%s\"", object->namespace);
	pl_buf_init(&buf, TEXT_MAX);
	T_OK(object_print(other->json, changes, 3, &buf, &err), &err);
	put_object(object, pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void decide_once(void)
{
	struct engine_decision decision;

	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
}

/* Adds the object: at once, or after other states of it. */
static void add_object(struct object *object)
{
	switch (pl_rng_below(&rng, 6)) {
	case 0:
		put_other(object, object->name);
		break;
	case 1:
		put_other(object, "for-a-while");
		if (pl_rng_chance(&rng, 1, 3))
			decide_once();
		drop_object(object, "for-a-while");
		break;
	case 2:
		put_object(object, object->json);
		if (pl_rng_chance(&rng, 1, 3))
			decide_once();
		drop_object(object, object->name);
		break;
	case 3:
		decide_once();
		break;
	default:
		break;
	}
	put_object(object, object->json);
}

static void open_engine(const struct engine_opts *opts)
{
	struct parse parse = {.arena = &arena};

	T_OK(engine_new(opts, &engine, &err), &err);
	parse.model = engine_model(engine);
	T_OK(pod_parse(&parse, print_value(it.pod), &pod, &err), &err);
}

static void close_engine(void)
{
	pod_drop(engine_model(engine), &pod);
	snapshot_check(engine_snapshot(engine));
	engine_free(engine);
	engine = NULL;
}

static void print_verdicts(struct pl_buf *out)
{
	struct engine_decision decision;

	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
	T_OK(eval_verdicts(engine, &arena, &decision, out, &err), &err);
}

static void decide_straight(struct pl_buf *out)
{
	struct engine_opts opts = eval_engine_opts();

	open_engine(&opts);
	for (unsigned i = 0; i < count; i++)
		put_object(&objects[i], objects[i].json);
	print_verdicts(out);
	close_engine();
}

static void decide_around(struct pl_buf *out)
{
	struct engine_opts opts = eval_engine_opts();

	opts.unique = false;
	open_engine(&opts);
	shuffle_objects();
	for (unsigned i = 0; i < count; i++)
		add_object(&objects[i]);
	print_verdicts(out);
	close_engine();
}

static bool is_among_the_best(struct pl_span name)
{
	PL_JSON_EACH (item, pl_json_member(it.expect, "best")) {
		const char *best = "";

		T_OK(pl_json_as_string(item, &best, &err), &err);
		if (pl_span_eq(pl_span_str(best), name))
			return true;
	}
	return false;
}

/* With a cache, which was filled and had to be mended. */
static void decide_cached(void)
{
	struct engine_opts opts = {.seed = pl_rng_next(&rng)};
	struct engine_decision decision;
	const struct snapshot *snapshot;
	bool some = pl_json_first(pl_json_member(it.expect, "best")).node != NULL;

	open_engine(&opts);
	shuffle_objects();
	for (unsigned i = 0; i < count; i++)
		add_object(&objects[i]);
	T_OK(engine_decide(engine, &pod, &decision, &err), &err);
	snapshot = engine_snapshot(engine);
	T_EQ(!decision.gated && decision.outcome.result == CYCLE_NODE, some);
	if (some)
		T_TRUE(is_among_the_best(
			model_text(snapshot->model,
		                   snapshot->row[decision.outcome.node].node.name)));
	close_engine();
}

static void check_case(struct pl_span line)
{
	struct pl_buf want, got;

	pl_arena_reset(&arena);
	T_OK(eval_case_read(&arena, line, &it, &err), &err);
	printf("%s\n", it.id);
	pl_rng_init(&rng, t_seed() ^ pl_hash(pl_span_str(it.id)));
	list_objects();
	pl_buf_init(&want, EVAL_OUT_MAX);
	pl_buf_init(&got, EVAL_OUT_MAX);
	decide_straight(&want);
	decide_around(&got);
	T_SPAN(pl_buf_span(&got), pl_buf_span(&want));
	if (!eval_case_is_an_error(&it))
		decide_cached();
	pl_buf_done(&want);
	pl_buf_done(&got);
}

static void check_category(const char *category)
{
	struct cases *cases = cases_open(category);
	struct pl_span line;

	pl_arena_init(&arena, 1 << 20, EVAL_ARENA_MAX);
	while (cases_next(cases, &line))
		check_case(line);
	cases_close(cases);
	pl_arena_done(&arena);
}

#define CATEGORY(category)                 \
	T_CASE_SECONDS(category, 120)      \
	{                                  \
		check_category(#category); \
	}

CATEGORY(fit)
CATEGORY(images)
CATEGORY(interpod)
CATEGORY(mixed)
CATEGORY(nodeaffinity)
CATEGORY(ports)
CATEGORY(preemption)
CATEGORY(spread)
CATEGORY(spreaddefault)
CATEGORY(taints)
CATEGORY(volumes)
