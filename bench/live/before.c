/*
 * Nodes that have pods from the start: node, alloc, and spec and state of each pod, as
 * a shard would have left them.
 */
#include "bench/common/report.h"
#include "bench/live/fill_int.h"
#include "coord/bulk/bulk_writer.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/clock.h"
#include "store/keys/partition.h"

enum { SLOTS = 8, PER_TXN = 32, VALUE_MAX = 16384 };

struct before {
	struct filler *f;
	struct txn_builder builder[SLOTS];
	struct pl_buf buf;
};

/* A copy of the current object that lasts as long as the transaction. */
static struct load_object *copy_object(struct before *b, struct pl_arena *arena)
{
	struct load_object *kept = pl_arena_alloc(arena, sizeof *kept);

	if (kept == NULL)
		bench_fail("out of memory");
	*kept = b->f->object;
	return kept;
}

static struct pl_span copy_printed(struct before *b, struct pl_arena *arena)
{
	struct pl_span kept = pl_arena_dup(arena, pl_buf_span(&b->buf));

	bench_check(kept.at == NULL ? PL_NOMEM : PL_OK, NULL, "a value");
	pl_buf_clear(&b->buf, VALUE_MAX);
	return kept;
}

static struct pl_span state_of(struct before *b, struct pl_arena *arena,
                               const struct load_object *node)
{
	const struct pod_state state = {.phase = STATE_BOUND,
	                                .cluster = pl_span_str(node->scope),
	                                .node = pl_span_str(node->name),
	                                .since_ms = pl_clock_wall_ms()};
	struct pl_err err = {0};

	bench_check(state_print(&state, &b->buf, &err), &err, "a state");
	return copy_printed(b, arena);
}

static struct pl_span alloc_of(struct before *b, struct pl_arena *arena,
                               const struct alloc *alloc)
{
	struct pl_err err = {0};

	bench_check(alloc_print(alloc, &b->buf, &err), &err, "an alloc");
	return copy_printed(b, arena);
}

static bool add_pod(struct txn_builder *builder, struct pl_arena *arena,
                    const struct builder_pod *pod, struct pl_span json,
                    struct pl_span state)
{
	const struct keys_id id = {.kind = KEYS_STATE,
	                           .partition = pod->partition,
	                           .scope = pod->namespace,
	                           .name = pod->name};
	struct keys_text key;

	bench_check(keys_build(&id, &key, NULL), NULL, "a key");
	return builder_submit(builder, pod, pod->partition, json) &&
	       builder_put(builder, pl_arena_dup(arena, keys_span(&key)), 0, state);
}

static void sort_pods(struct alloc_pod *pod, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i; k > 0 && alloc_pod_cmp(&pod[k - 1], &pod[k]) > 0;
		     k--) {
			struct alloc_pod was = pod[k];

			pod[k] = pod[k - 1];
			pod[k - 1] = was;
		}
}

static bool add_node(struct before *b, struct txn_builder *builder,
                     struct pl_arena *arena, uint32_t number)
{
	const struct load *load = &b->f->opts->load;
	uint32_t each = load_before_each(load);
	struct alloc_pod *pod = pl_arena_zalloc(arena, each, sizeof *pod);
	struct alloc alloc = {.generation = 1, .pod = pod, .pods = each};
	const struct load_object *node;
	struct builder_node name;
	bool fits = true;

	if (pod == NULL)
		bench_fail("out of memory");
	load_node(load, number, &b->f->object);
	node = copy_object(b, arena);
	for (uint32_t k = 0; k < each && fits; k++) {
		const struct load_object *object;
		struct load_before what;
		struct pod_location location = {0};

		load_before(load, number, k, &b->f->object, &what);
		filler_location(b->f, &location);
		object = copy_object(b, arena);
		pod[k] = (struct alloc_pod){.partition = location.partition,
		                            .namespace = pl_span_str(object->scope),
		                            .name = pl_span_str(object->name)};
		alloc.used.cpu_milli += what.cpu_milli;
		alloc.used.memory += what.memory;
		alloc.used.pods++;
		fits = add_pod(builder, arena,
		               &(struct builder_pod){pod[k].partition, pod[k].namespace,
		                                     pod[k].name},
		               load_json(object), state_of(b, arena, node));
	}
	alloc.used.nonzero_cpu_milli = alloc.used.cpu_milli;
	alloc.used.nonzero_memory = alloc.used.memory;
	sort_pods(pod, each);
	name = (struct builder_node){.cluster = pl_span_str(node->scope),
	                             .name = pl_span_str(node->name)};
	bench_check(partition_of_node(name.cluster, name.name, load->partitions,
	                              &name.partition, NULL),
	            NULL, "a node's partition");
	return fits && builder_put_node(builder, &name, 0, 0, load_json(node),
	                                alloc_of(b, arena, &alloc));
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct before *b = ctx;
	struct txn_builder *builder = &b->builder[slot];

	if (b->f->next == b->f->end)
		return false;
	builder_begin(builder, arena, kv_limits(b->f->kv));
	for (uint32_t i = 0; i < PER_TXN && b->f->next < b->f->end; i++) {
		struct txn_builder was = *builder;

		if (!add_node(b, builder, arena, b->f->next)) {
			*builder = was; /* in the next one */
			bench_check(i > 0 ? PL_OK : PL_LIMIT, NULL,
			            "a node with its pods");
			break;
		}
		b->f->next++;
	}
	filler_say(b->f, "nodes with their pods", b->f->next, b->f->end);
	builder_req(builder, req);
	return true;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	(void)ctx;
	(void)slot;
	if (!result->txn.succeeded && !again)
		bench_fail("a node or a pod was there before");
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct before *b = ctx;

	filler_on_done(b->f, err);
}

void fill_before(struct filler *f)
{
	struct before *b = bench_alloc(1, sizeof *b);
	struct bulk_opts opts = {.slots = SLOTS,
	                         .next = on_next,
	                         .answer = on_answer,
	                         .done = on_done,
	                         .ctx = b};
	struct bulk_writer *writes;
	struct pl_err err = {0};

	b->f = f;
	pl_buf_init(&b->buf, VALUE_MAX);
	bench_check(bulk_open(f->kv, &opts, &writes, &err), &err, "fill nodes");
	filler_run(f);
}
