/*
 * Bundles: decided pods, on several nodes, that are committed in one transaction whole
 * or not at all. What is decided under a rule about other pods, or as one of several
 * that belong together, is only right if all of it comes true.
 *
 *	NONE --add--> GATHERS --close--> WAITS --its nodes are free--> SENT --answer-->
 *NONE |                 |                            |
 *	                 +--- a pod of it goes, or news says that -------+--> all its pods
 *	                      what was decided may not stand                are decided
 *again
 *
 * One at a time, and while there is one nothing else is decided that would rely on it.
 * Its nodes are kept out of other transactions until it is sent; other pods that wait
 * there go along if they fit.
 */
#include "shardsched/shard/commit/bundle.h"

#include <stdlib.h>

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

enum {
	FENCES = 8,     /* compares that are put in front of ours */
	POD_OPS = 2,    /* compares at most; one put, one read */
	NODE_OPS = 3,   /* reads at most */
	GROW_PARTS = 4, /* of the most, after each that was full and went through */
	OPS_DEFAULT = 128,
	ARENA_CHUNK = 16 << 10,
};

void bundle_init(struct sched *sched)
{
	struct bundle *bundle = &sched->bundle;

	pl_list_init(&bundle->nodes);
	pl_list_init(&bundle->gangs);
	pl_arena_init(&bundle->arena, ARENA_CHUNK, 0);
	bundle->most = sched->opts.batch;
}

void bundle_done(struct sched *sched)
{
	pl_arena_done(&sched->bundle.arena);
	free(sched->bundle.extra);
}

/* -- what is in it ------------------------------------------------------------------- */

/* Every pod on a node of its own is the worst that can be. */
bool bundle_holds(const struct sched *sched, uint32_t pods, uint32_t nodes)
{
	const struct bundle *bundle = &sched->bundle;
	uint64_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;
	uint64_t keys = bundle->extras + FENCES;

	pods += bundle->pods;
	nodes += bundle->node_count;
	return (uint64_t)POD_OPS * pods + 2 * (uint64_t)nodes + keys <= ops &&
	       pods + (uint64_t)NODE_OPS * nodes + keys <= ops;
}

static bool has_room(const struct sched *sched)
{
	return sched->bundle.pods < sched->bundle.most && bundle_holds(sched, 1, 1);
}

bool bundle_takes(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;

	if (bundle->broken || bundle->state > BUNDLE_GATHERS ||
	    !pl_list_empty(&bundle->gangs))
		return false;
	return bundle->pods == 0 || has_room(sched);
}

bool bundle_takes_gang(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;

	if (bundle->state == BUNDLE_NONE)
		return !bundle->broken;
	return bundle->state == BUNDLE_GATHERS && !bundle->broken &&
	       !pl_list_empty(&bundle->gangs) && has_room(sched);
}

void bundle_add_gang(struct sched *sched, struct sched_gang *gang)
{
	struct bundle *bundle = &sched->bundle;

	PL_ASSERT(bundle_takes_gang(sched));
	bundle->state = BUNDLE_GATHERS;
	pl_list_add_tail(&bundle->gangs, &gang->bundled);
}

void bundle_add(struct sched *sched, struct sched_pod *pod)
{
	struct bundle *bundle = &sched->bundle;
	struct sched_node *node = pod->node;

	PL_ASSERT(bundle->state <= BUNDLE_GATHERS && pod->place == POD_WAITS);
	if (bundle->state == BUNDLE_NONE)
		bundle->began_ms = sched->now_ms;
	bundle->state = BUNDLE_GATHERS;
	bundle->pods++;
	pod->flags |= POD_BUNDLED;
	if (node->bundled++ == 0) {
		pl_list_add_tail(&bundle->nodes, &node->bundle);
		bundle->node_count++;
	}
	node_ready(sched, node);
}

/* There is no bound but that of a transaction: no pod is added beyond it, and what does
 * not fit then is known when it is sent. */
static struct bundle_extra *extra_room(struct bundle *bundle)
{
	uint32_t cap = bundle->extra_cap == 0 ? 16 : bundle->extra_cap * 2;
	struct bundle_extra *grown;

	if (bundle->extras < bundle->extra_cap)
		return &bundle->extra[bundle->extras];
	grown = pl_realloc(bundle->extra, cap * sizeof *grown);
	if (grown == NULL)
		return NULL;
	bundle->extra = grown;
	bundle->extra_cap = cap;
	return &grown[bundle->extras];
}

uint32_t bundle_extra(struct sched *sched, const struct bundle_extra *extra)
{
	struct bundle *bundle = &sched->bundle;
	struct bundle_extra *at = extra_room(bundle);

	PL_ASSERT(bundle->state <= BUNDLE_GATHERS);
	if (at == NULL) {
		bundle->broken = true;
		return UINT32_MAX;
	}
	*at = *extra;
	at->key = pl_arena_dup(&bundle->arena, extra->key);
	at->value = pl_arena_dup(&bundle->arena, extra->value);
	if (at->key.at == NULL || (at->value.at == NULL && extra->value.len > 0))
		bundle->broken = true;
	return bundle->extras++;
}

void bundle_extra_value(struct sched *sched, struct bundle_extra *extra,
                        struct pl_span value)
{
	extra->value = pl_arena_dup(&sched->bundle.arena, value);
	if (extra->value.at == NULL)
		sched->bundle.broken = true;
}

static void node_out(struct sched *sched, struct sched_node *node)
{
	node->bundled = 0;
	pl_list_del(&node->bundle);
	sched->bundle.node_count--;
	node_ready(sched, node);
}

void bundle_left(struct sched *sched, struct sched_pod *pod)
{
	struct bundle *bundle = &sched->bundle;

	PL_ASSERT(bundle->pods > 0 && pod->node->bundled > 0);
	pod->flags &= (uint16_t)~POD_BUNDLED;
	bundle->broken = true;
	bundle->pods--;
	if (pod->node->bundled == 1)
		node_out(sched, pod->node);
	else
		pod->node->bundled--;
}

void bundle_break(struct sched *sched)
{
	struct bundle *bundle = &sched->bundle;

	if (bundle->state == BUNDLE_GATHERS || bundle->state == BUNDLE_WAITS)
		bundle->broken = true;
}

void bundle_close(struct sched *sched)
{
	if (sched->bundle.state == BUNDLE_GATHERS)
		sched->bundle.state = BUNDLE_WAITS;
}

static void end(struct sched *sched, bool stood)
{
	struct bundle *bundle = &sched->bundle;

	PL_ASSERT(pl_list_empty(&bundle->nodes) && bundle->node_count == 0);
	bundle->state = BUNDLE_NONE;
	bundle->broken = false;
	bundle->pods = bundle->extras = bundle->shape = 0;
	bundle->number++;
	pl_arena_reset(&bundle->arena);
	if (large_wants_turn(sched))
		large_due(sched);
	while (!pl_list_empty(&bundle->gangs)) {
		struct sched_gang *gang =
			PL_LIST_ITEM(bundle->gangs.next, struct sched_gang, bundled);

		pl_list_del(&gang->bundled);
		gang_bundle_ended(sched, gang, stood);
	}
}

/* All that is left of it is decided again. */
static void dissolve(struct sched *sched)
{
	struct bundle *bundle = &sched->bundle;

	while (!pl_list_empty(&bundle->nodes)) {
		struct sched_node *node =
			PL_LIST_ITEM(bundle->nodes.next, struct sched_node, bundle);

		PL_LIST_EACH (link, &node->waiting) {
			struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if ((pod->flags & POD_BUNDLED) != 0)
				pod_redo(sched, pod);
		}
	}
	end(sched, false);
}

/* -- sending it ---------------------------------------------------------------------- */

static bool is_free(const struct sched *sched)
{
	PL_LIST_EACH (at, &sched->bundle.nodes) {
		const struct sched_node *node =
			PL_LIST_ITEM(at, struct sched_node, bundle);

		if (node->call != 0)
			return false;
		PL_LIST_EACH (link, &node->waiting) {
			const struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if ((pod->flags & POD_BUNDLED) != 0 && pod->call != 0)
				return false; /* its state is being told */
		}
	}
	return true;
}

bool bundle_may(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;

	if (bundle->broken)
		return true;
	return bundle->state == BUNDLE_WAITS && sched->commits < sched->opts.inflight &&
	       is_free(sched);
}

enum pl_code bundle_put_extra(struct call *call, const struct bundle_extra *extra)
{
	struct book *book = &call->book;
	struct call_item item = {.compared = extra->how != BUNDLE_BUMP};
	bool fits = false;

	switch (extra->how) {
	case BUNDLE_EXPECT:
		fits = book_expect(book, extra->key, extra->rev);
		break;
	case BUNDLE_PUT:
		fits = book_put(book, extra->key, extra->rev, extra->value);
		break;
	case BUNDLE_BUMP:
		fits = book_bump(book, extra->key, extra->value);
		break;
	}
	if (!fits)
		return book->code == PL_OK ? PL_BUSY : book->code;
	if (extra->how != BUNDLE_EXPECT)
		item.value = extra->value;
	return call_item_of(call, &item, extra->key);
}

static enum pl_code fill(struct sched *sched, struct call *call, bool passengers,
                         struct pl_err *err)
{
	const struct bundle *bundle = &sched->bundle;
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; code == PL_OK && i < bundle->extras; i++)
		code = bundle_put_extra(call, &bundle->extra[i]);
	PL_LIST_EACH (at, &bundle->nodes) {
		struct sched_node *node = PL_LIST_ITEM(at, struct sched_node, bundle);

		if (code != PL_OK)
			break;
		code = commit_put(sched, call, node,
		                  passengers ? COMMIT_ALL : COMMIT_BUNDLED, err);
		node->full = call->full && !passengers;
	}
	if (code == PL_OK)
		return PL_OK;
	commit_undo(sched, call, 0);
	book_begin(&call->book, &call->arena, sched->limits);
	return code;
}

void bundle_limited(struct sched *sched)
{
	const struct pl_list *gangs = &sched->bundle.gangs;

	if (!pl_list_empty(gangs) && gangs->next->next == gangs)
		gang_too_large(PL_LIST_ITEM(gangs->next, struct sched_gang, bundled));
}

/* One of its nodes, of which the alloc can not say what was decided: they go elsewhere.
 */
static bool close_full(struct sched *sched)
{
	PL_LIST_EACH (at, &sched->bundle.nodes) {
		struct sched_node *node = PL_LIST_ITEM(at, struct sched_node, bundle);

		if (!node->full)
			continue;
		node_settle(sched, node);
		return true;
	}
	return false;
}

static void give_up_gangs(struct sched *sched, const struct pl_err *err)
{
	if (err->code == PL_BUSY || err->code == PL_LIMIT) {
		bundle_limited(sched);
		return;
	}
	PL_LIST_EACH (link, &sched->bundle.gangs)
		PL_LIST_ITEM(link, struct sched_gang, bundled)->pause = true;
	tell_trouble(sched, err);
}

/* It is decided again, and told that too much is to be compared for it. */
static void refuse_only(struct sched *sched)
{
	const struct sched_node *node =
		PL_LIST_ITEM(sched->bundle.nodes.next, struct sched_node, bundle);

	PL_LIST_EACH (link, &node->waiting) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if ((pod->flags & POD_BUNDLED) != 0)
			class_more_of(pool_class_of(pod->queue.class))->bonds.many = true;
	}
}

/* It is too large, or there is no memory. What can not be sent alone is set aside. */
static void give_up(struct sched *sched, const struct pl_err *err)
{
	struct bundle *bundle = &sched->bundle;
	struct sched_node *node;

	bundle->broken = true;
	if (close_full(sched))
		return;
	if (bundle->pods > 1)
		bundle->most = bundle->pods / 2;
	if (!pl_list_empty(&bundle->gangs)) {
		give_up_gangs(sched, err);
		return;
	}
	if (bundle->pods > 1)
		return;
	if (bundle->pods == 1 && (err->code == PL_BUSY || err->code == PL_LIMIT)) {
		refuse_only(sched);
		return;
	}
	node = PL_LIST_ITEM(bundle->nodes.next, struct sched_node, bundle);
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if ((pod->flags & POD_BUNDLED) == 0)
			continue;
		pod_withdraw(sched, pod);
		pod->flags |= POD_REFUSED;
		break;
	}
	tell_repair(sched, err);
}

static void post(struct sched *sched, struct call *call)
{
	struct bundle *bundle = &sched->bundle;

	commit_seal(sched, call, 0);
	while (!pl_list_empty(&bundle->nodes))
		node_out(sched,
		         PL_LIST_ITEM(bundle->nodes.next, struct sched_node, bundle));
	bundle->state = BUNDLE_SENT;
	sched->figures.bundles++;
	call_post(sched, call);
}

static uint32_t waiting(const struct bundle *bundle)
{
	uint32_t count = 0;

	PL_LIST_EACH (at, &bundle->nodes)
		count += PL_LIST_ITEM(at, struct sched_node, bundle)->waiting_count;
	return count;
}

static void send(struct sched *sched)
{
	struct bundle *bundle = &sched->bundle;
	struct call *call = call_begin(sched, CALL_COMMIT);
	struct pl_err err = {0};
	enum pl_code code;

	if (call == NULL)
		return;
	call->bundle = true;
	code = call_room(call, COMMIT_POD_ITEMS * waiting(bundle) +
	                               COMMIT_NODE_ITEMS * bundle->node_count +
	                               bundle->extras);
	if (code == PL_OK)
		code = fill(sched, call, true, &err);
	if (code == PL_BUSY || code == PL_LIMIT)
		code = fill(sched, call, false, &err);
	if (code == PL_OK) {
		post(sched, call);
		return;
	}
	call_end(sched, call);
	if (err.code == PL_OK)
		pl_err_set(&err, code, "a transaction for what is decided together");
	give_up(sched, &err);
}

void bundle_run(struct sched *sched)
{
	struct bundle *bundle = &sched->bundle;

	if (!bundle->broken && bundle->state == BUNDLE_WAITS && bundle_may(sched))
		send(sched);
	if (bundle->broken)
		dissolve(sched);
}

/* -- what became of it --------------------------------------------------------------- */

static void redo(struct sched *sched, const struct call_item *item)
{
	struct sched_pod *pod =
		pod_find(sched, item->id.partition, item->id.scope, item->id.name);

	if (pod != NULL && pod->place == POD_WAITS && pod->call == 0)
		pod_redo(sched, pod);
}

void bundle_settled(struct sched *sched, const struct call *call)
{
	struct bundle *bundle = &sched->bundle;
	uint32_t step = sched->opts.batch / GROW_PARTS + 1;

	PL_ASSERT(bundle->state == BUNDLE_SENT && call->bundle);
	for (uint32_t i = 0; !call->stood && i < call->items; i++)
		if (call->item[i].bundled)
			redo(sched, &call->item[i]);
	sched->figures.bundles_failed += !call->stood;
	rivals_settled(sched, call->stood && groups_bundle_is_shaped(sched),
	               bundle->began_ms);
	if (!call->stood) {
		bundle->most = bundle->pods > 1 ? bundle->pods / 2 : 1;
	} else if (bundle->pods >= bundle->most) {
		bundle->most = bundle->most + step < sched->opts.batch
		                       ? bundle->most + step
		                       : sched->opts.batch;
	}
	end(sched, call->stood);
}
