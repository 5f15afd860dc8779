/* Its life, and what is owned. */
#include "shardsched/shard/sched.h"

#include <stdlib.h>

#include "shardsched/model/reader.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/join.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "shardsched/shard/unsched.h"
#include "store/base/alloc.h"

enum {
	ARENA_CHUNK = 64 << 10,
	CALL_CHUNK = 256 << 10,
	CACHE_BYTES = 256 << 20,
	BATCH = 256,
	INFLIGHT = 4,
	READS = 16,
	TIMEOUT_MS = 5000,
	MOVES = 1024, /* pods that are asked in a turn by which settings they wait */
};

/* The queue asks without saying whose hint it wants: a function a plugin. */
static bool hint_of(struct sched *sched, unsigned plugin, const struct queue_class *class,
                    const struct queue_event *event)
{
	return gang_is_class(class) ? gang_hint(sched, class, plugin, event)
	                            : sched_hint(sched, plugin, class, event);
}

#define PLUGIN_HINT(row, enabled)                                            \
	static bool hint_##row(void *ctx, const struct queue_class *class,   \
	                       const struct queue_event *event)              \
	{                                                                    \
		return hint_of(ctx, (unsigned)index_of_##row, class, event); \
	}
PLUGINS_MAP(PLUGIN_HINT)

#define PLUGIN_ROW(row, enabled) hint_##row,
static queue_hint_fn *const hints[] = {PLUGINS_MAP(PLUGIN_ROW)};

/* Of whoever found nothing anywhere. */
static bool hint_abroad(void *ctx, const struct queue_class *class,
                        const struct queue_event *event)
{
	return gang_is_class(class) || abroad_hint(ctx, class, event);
}

enum pl_code sched_queue_make(struct sched *sched, struct reign *reign,
                              struct queue **out, struct pl_err *err)
{
	const struct regime *regime = &reign->regime;
	struct queue_opts opts = queue_opts_for(regime->sort);

	for (unsigned i = 0; i < plugins.count; i++) {
		sched->plugin[i] = (struct queue_plugin){.name = plugins.row[i]->name,
		                                         .events = plugins.row[i]->events,
		                                         .hint = hints[i]};
	}
	opts.fair = regime->fair;
	opts.backoff_first_ms = regime->backoff_first_ms;
	opts.backoff_max_ms = regime->backoff_max_ms;
	opts.seed = sched->opts.seed;
	sched->plugin[plugins.count] = (struct queue_plugin){
		.name = "Abroad", .events = QUEUE_ON(DIGEST), .hint = hint_abroad};
	opts.plugins = sched->plugin;
	opts.plugins_count = plugins.count + 1;
	opts.hint_ctx = sched;
	opts.owner = reign;
	return queue_new(&opts, out, err);
}

static enum pl_code parts_make(struct sched *sched, struct pl_err *err)
{
	size_t bytes =
		sched->opts.cache_bytes == 0 ? CACHE_BYTES : sched->opts.cache_bytes;
	struct cycle_opts cycle = {.snapshot = &sched->snapshot};
	enum pl_code code = classes_new(&sched->snapshot, bytes, &sched->classes, err);

	if (code != PL_OK)
		return code;
	cycle.cache = classes_cache(sched->classes);
	sched->pool->opts.classes = sched->classes;
	code = cycle_new(&cycle, &sched->cycle, err);
	if (code == PL_OK &&
	    pl_buf_add(&sched->reign->regime.profiles, sched->opts.config) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "keep the profiles");
	sched->opts.config = (struct pl_span){0}; /* was borrowed */
	sched->reign->regime.sort = sched->opts.sort;
	if (code == PL_OK)
		code = reign_fill(sched->reign, err);
	sched->queue = sched->reign->queue;
	if (code == PL_OK)
		code = preempts_new(sched, err);
	if (code == PL_OK)
		code = unsched_new(sched, err);
	if (code == PL_OK)
		code = gangs_init(sched, err);
	return code;
}

static void lists_init(struct sched *sched)
{
	model_init(&sched->model);
	sched->moves = MOVES;
	pl_list_init(&sched->past);
	sched->pool = &sched->reign->pool;
	conflicts_init(&sched->conflicts, &sched->model.strings);
	pl_map_init(&sched->nodes);
	pl_map_init(&sched->plans);
	pods_init(sched);
	pl_map_init(&sched->gangs.by_name);
	pl_list_init(&sched->gangs.dirty);
	pl_list_init(&sched->gangs.telling);
	pl_list_init(&sched->ready);
	pl_list_init(&sched->wanted);
	pl_list_init(&sched->digests.of);
	abroad_init(sched);
	shields_init(sched);
	pl_list_init(&sched->lacking);
	pl_list_init(&sched->unread);
	pl_list_init(&sched->sharing);
	pl_list_init(&sched->ends);
	pl_list_init(&sched->ends_later);
	pl_list_init(&sched->astray);
	pl_list_init(&sched->tainted);
	pl_list_init(&sched->holding);
	pl_list_init(&sched->uncounted);
	pl_list_init(&sched->turns);
	for (unsigned i = 0; i < 2; i++) {
		pl_list_init(&sched->doubts[i]);
		pl_list_init(&sched->odd[i]);
	}
	pl_arena_init(&sched->arena, ARENA_CHUNK, READER_ARENA_MAX);
	pl_buf_init(&sched->buf, ALLOC_BYTES_MAX);
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		pl_arena_init(&sched->call[i].arena, CALL_CHUNK, 0);
}

static void opts_set(struct sched *sched, const struct sched_opts *opts)
{
	sched->opts = *opts;
	if (opts->batch == 0)
		sched->opts.batch = BATCH;
	if (opts->inflight == 0)
		sched->opts.inflight = INFLIGHT;
	if (opts->call_timeout_ms == 0)
		sched->opts.call_timeout_ms = TIMEOUT_MS;
	if (opts->tells == 0 || opts->tells > SCHED_TELLS_MAX)
		sched->opts.tells = SCHED_TELLS_MAX;
	if (opts->reads == 0)
		sched->opts.reads = READS;
	PL_ASSERT(sched->opts.batch <= SCHED_BATCH_MAX);
	PL_ASSERT(sched->opts.inflight <= SCHED_INFLIGHT_MAX);
	PL_ASSERT(opts->partitions > 0 && opts->partitions <= KEYS_PARTITIONS_MAX);
	sched->batch = sched->opts.batch;
	sched->first = sched->opts;
}

static enum pl_code tables_make(struct sched *sched)
{
	sched->shard = pl_strdup(sched->opts.shard);
	sched->opts.shard = sched->shard;
	if (groups_init(sched) != PL_OK)
		return PL_NOMEM;
	sched->partition = pl_calloc(sched->opts.partitions, sizeof *sched->partition);
	if (sched->shard == NULL || sched->partition == NULL)
		return PL_NOMEM;
	digests_init(sched);
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		pl_list_init(&sched->partition[i].nodes);
	}
	return PL_OK;
}

enum pl_code sched_new(const struct sched_opts *opts, struct sched **out,
                       struct pl_err *err)
{
	struct sched *sched = pl_calloc(1, sizeof *sched);
	enum pl_code code;

	if (sched == NULL)
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	opts_set(sched, opts);
	sched->reign = reign_new(sched);
	if (sched->reign == NULL) {
		free(sched);
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	}
	lists_init(sched);
	bundle_init(sched);
	records_init(sched);
	large_init(sched);
	code = snapshot_init(&sched->snapshot, &sched->model, err);
	if (code != PL_OK) {
		reign_free(sched->reign);
		model_done(&sched->model);
		free(sched);
		return code;
	}
	code = tables_make(sched);
	if (code != PL_OK)
		pl_err_set(err, code, "make a scheduler's tables");
	else
		code = parts_make(sched, err);
	if (code != PL_OK) {
		sched_free(sched);
		return code;
	}
	*out = sched;
	return PL_OK;
}

void sched_free(struct sched *sched)
{
	if (sched == NULL)
		return;
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		pl_arena_done(&sched->call[i].arena);
	bundle_done(sched);
	digests_done(sched);
	unsched_free(sched);
	preempts_free(sched);
	large_done(sched);
	shields_done(sched);
	nodes_done(sched);
	pods_done(sched);
	pl_map_done(&sched->plans);
	gangs_done(sched);
	records_done(sched);
	PL_LIST_EACH (link, &sched->past)
		reign_free(PL_LIST_ITEM(link, struct reign, link));
	reign_free(sched->reign);
	groups_done(sched);
	conflicts_done(&sched->conflicts);
	cycle_free(sched->cycle);
	classes_free(sched->classes);
	snapshot_done(&sched->snapshot);
	likeness_done(&sched->likeness, &sched->model);
	pl_buf_done(&sched->buf);
	pl_arena_done(&sched->arena);
	model_done(&sched->model);
	free(sched->alloc_pod);
	free(sched->by_slot);
	free(sched->partition);
	free(sched->shard);
	free(sched);
}

void sched_set_limits(struct sched *sched, struct kv_limits limits)
{
	const struct kv_limits *was = &sched->limits;

	if (was->txn_ops == limits.txn_ops && was->fences == limits.fences &&
	    was->request_bytes == limits.request_bytes)
		return;
	sched->limits = limits;
	many_again(sched);
}

/* -- what is owned --------------------------------------------------- */

static struct sched_partition *at(const struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return &sched->partition[partition];
}

enum pl_code sched_own(struct sched *sched, uint32_t partition, int64_t epoch,
                       struct pl_err *err)
{
	struct sched_partition *part = at(sched, partition);

	(void)err;
	PL_ASSERT(!part->owned && epoch > 0);
	part->owned = true;
	part->epoch = epoch;
	part->quiet = part->open = false;
	for (unsigned i = 0; i < SCHED_PARTS; i++) {
		part->ended[i] = part->missed[i] = part->misses[i] = false;
		part->upto[i] = 0;
	}
	sched->load_ms = 0;
	visit_drop(sched, partition);
	abroad_settle(sched, partition);
	digests_dirty(sched, partition);
	return PL_OK;
}

/* Nothing is known of it any more; but of its nodes, when all nodes are followed. Of
 * pods something is known where they were ours. */
static void empty(struct sched *sched, struct sched_partition *part, bool ours,
                  bool followed)
{
	part->open = false;
	call_unhold(sched, part, !followed);
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		if (followed)
			node_settle(sched, node);
		else
			node_forget(sched, node);
	}
	if (ours)
		PODS_OF_EACH(pod, sched, (uint32_t)(part - sched->partition))
	pod_forget(sched, pod);
	gangs_lost(sched, (uint32_t)(part - sched->partition));
	for (unsigned i = 0; i < SCHED_PARTS; i++) {
		part->ended[i] = false;
		part->upto[i] = 0;
	}
}

/* Its pods that nodes of ours list, and whose specs were to come with its list: now they
 * are read by key. */
static void want_specs(struct sched *sched, uint32_t partition)
{
	PODS_OF_EACH(pod, sched, partition)
	{
		if (pod->spec == NULL)
			listed_settle(sched, pod);
	}
}

void sched_lost(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = at(sched, partition);
	bool listing = !part->ended[SCHED_SCHEDULES];

	if (!part->owned)
		return;
	part->owned = false;
	empty(sched, part, true, sched->whole.begun);
	if (listing)
		want_specs(sched, partition);
	digests_dirty(sched, partition);
	PL_ASSERT(part->work == 0);
	call_drop_stale(sched);
}

void sched_rewound(struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		visit_drop(sched, i);
	whole_forget(sched);
	digests_forget(sched);
	records_forget(sched);
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		empty(sched, &sched->partition[i], sched->partition[i].owned, false);
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		sched->call[i].rewound = true;
	groups_rewound(sched);
	shields_forget(sched);
	call_drop_stale(sched);
}

void sched_quiesce(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = at(sched, partition);

	if (!part->owned || part->quiet)
		return;
	part->quiet = true;
	PL_LIST_EACH (link, &part->nodes)
		node_settle(sched, PL_LIST_ITEM(link, struct sched_node, of_partition));
	PODS_OF_EACH(pod, sched, partition)
	pod_settle(sched, pod);
}

bool sched_is_quiet(const struct sched *sched, uint32_t partition)
{
	for (unsigned i = 0; i < SCHED_CALLS; i++) {
		const struct call *call = &sched->call[i];

		if (call->state == CALL_FREE || call->kind == CALL_READ)
			continue;
		for (uint32_t n = 0; n < call->items; n++) {
			const struct call_item *item = &call->item[n];
			if ((item->pod != NULL && item->pod->key[0] == partition) ||
			    (item->node != NULL && item->node->partition == partition))
				return false;
		}
	}
	return at(sched, partition)->work == 0;
}

bool sched_is_open(const struct sched *sched, uint32_t partition)
{
	return at(sched, partition)->open;
}

uint32_t sched_load(const struct sched *sched, uint32_t partition)
{
	return at(sched, partition)->work;
}

/* -- work ------------------------------------------------------------ */

/* What failed for want of memory or room is tried again. */
static void repair(struct sched *sched)
{
	if (sched->repair_ms == 0 || sched->now_ms < sched->repair_ms)
		return;
	sched->repair_ms = 0;
	sched->unjoined = sched->shrunk = false;
	if (sched->records.missed)
		tell_anew(sched, SCHED_GANGS);
	whole_repair(sched);
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		node->full = false;
		node_settle(sched, node);
	}
	PODS_EACH(pod, sched)
	{
		pod->flags &= (uint16_t)~POD_REFUSED;
		pod_settle(sched, pod);
	}
	preempts_unspare(sched);
}

/* Pods to nodes, and nodes into calls. */
static unsigned place_run(struct sched *sched, unsigned work)
{
	bool joined = join_run(sched);
	unsigned tried = 0;

	if (joined)
		queue_run(sched->queue, sched->now_ms);
	shields_run(sched);
	bundle_run(sched);
	if (joined)
		gangs_run(sched);
	if (joined)
		tried = decide_run(sched, work);
	bundle_run(sched);
	if (joined)
		large_run(sched);
	commit_run(sched);
	return tried;
}

unsigned sched_run(struct sched *sched, uint64_t now_ms, int64_t wall_ms, unsigned work)
{
	unsigned tried = 0;

	PL_ASSERT(now_ms >= sched->now_ms);
	sched->now_ms = now_ms;
	rivals_run(sched);
	sched->wall_ms = wall_ms;
	groups_tidy(sched);
	repair(sched);
	rests_run(sched);
	nodes_count_again(sched);
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		if (sched->call[i].state == CALL_AGAIN && sched->call[i].at_ms <= now_ms)
			sched->call[i].state = CALL_NEW;
	doubts_run(sched);
	holds_run(sched);
	turns_run(sched);
	configure_run(sched);
	if (!is_moving(sched))
		tried = place_run(sched, work);
	taints_run(sched);
	ends_run(sched);
	if (!is_moving(sched))
		abroad_run(sched);
	unsched_run(sched);
	register_run(sched);
	specs_run(sched);
	visits_run(sched);
	digests_run(sched);
	return tried;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t sched_deadline_ms(const struct sched *sched)
{
	uint64_t at_ms = sched->unjoined ? UINT64_MAX : queue_deadline_ms(sched->queue);

	if (is_moving(sched) || decide_may(sched) || commit_may(sched) ||
	    abroad_may(sched) || bundle_may(sched) || sched->shields.review)
		return 0;
	at_ms = earlier(at_ms, taints_deadline_ms(sched));
	at_ms = earlier(at_ms, holds_deadline_ms(sched));
	at_ms = earlier(at_ms, turns_deadline_ms(sched));
	at_ms = earlier(at_ms, ends_deadline_ms(sched));
	at_ms = earlier(at_ms, specs_deadline_ms(sched));
	at_ms = earlier(at_ms, unsched_deadline_ms(sched));
	at_ms = earlier(at_ms, whole_deadline_ms(sched));
	at_ms = earlier(at_ms, visits_deadline_ms(sched));
	at_ms = earlier(at_ms, abroad_deadline_ms(sched));
	at_ms = earlier(at_ms, digests_deadline_ms(sched));
	at_ms = earlier(at_ms, gangs_deadline_ms(sched));
	at_ms = earlier(at_ms, large_deadline_ms(sched));
	if (sched->repair_ms != 0)
		at_ms = earlier(at_ms, sched->repair_ms);
	if (sched->uncounted_ms != 0)
		at_ms = earlier(at_ms, sched->uncounted_ms);
	at_ms = earlier(at_ms, doubts_deadline_ms(sched));
	at_ms = earlier(at_ms, rests_deadline_ms(sched));
	at_ms = earlier(at_ms, register_deadline_ms(sched));
	at_ms = earlier(at_ms, rivals_deadline_ms(sched));
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		if (sched->call[i].state == CALL_AGAIN)
			at_ms = earlier(at_ms, sched->call[i].at_ms);
	return at_ms;
}

bool sched_next(struct sched *sched, struct sched_action *out)
{
	uint32_t partition;

	if (tell_next(sched, out))
		return true;
	if (visit_next(sched, &partition)) {
		*out = (struct sched_action){.what = SCHED_VISIT, .partition = partition};
		return true;
	}
	for (uint32_t i = 0; i < SCHED_CALLS; i++) {
		struct call *call = &sched->call[i];

		if (call->state != CALL_NEW)
			continue;
		call->state = CALL_OUT;
		call->attempts++;
		*out = (struct sched_action){.what = SCHED_CALL,
		                             .call = i,
		                             .req = call->req,
		                             .timeout_ms = sched->opts.call_timeout_ms};
		return true;
	}
	return false;
}

void sched_figures(const struct sched *sched, struct sched_figures *out)
{
	*out = sched->figures;
	out->nodes = sched->snapshot.nodes;
	out->abroad = (uint32_t)(pl_bitset_count(sched->snapshot.open) -
	                         pl_bitset_count(sched->snapshot.home));
	out->pods = sched->pods.count;
	out->waiting = sched->waiting;
	out->batch = sched->batch;
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		out->inflight += sched->call[i].state != CALL_FREE;
}

void sched_conflicts(const struct sched *sched, struct conflict_summary *out)
{
	conflicts_tell(&sched->conflicts, sched->now_ms, out);
}

void sched_queue_stats(const struct sched *sched, struct queue_stats *out)
{
	queue_stats(sched->queue, out);
	PL_LIST_EACH (link, &sched->past) {
		struct queue_stats past;

		queue_stats(PL_LIST_ITEM(link, struct reign, link)->queue, &past);
		for (unsigned i = 0; i < QUEUE_PLACES; i++)
			out->pods[i] += past.pods[i];
		out->classes += past.classes;
		out->classes_waiting += past.classes_waiting;
	}
}
