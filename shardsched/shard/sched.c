/* The core's life, and its partitions. */
#include "shardsched/shard/sched.h"

#include <stdlib.h>

#include "shardsched/model/reader.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/alloc.h"

enum {
	ARENA_CHUNK = 64 << 10,
	TXN_CHUNK = 256 << 10,
	BATCH_SIZE = 256,
	INFLIGHT = 4,
	READS = 16,
	TIMEOUT_MS = 5000,
	MIGRATE_MAX = 1024, /* pods that one turn migrates to the latest settings */
};

/* The queue asks a plugin's hint without saying which plugin it asks, so there is one
 * function for each. */
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

/* The hint of pods that found no node anywhere. */
static bool hint_remote(void *ctx, const struct queue_class *class,
                        const struct queue_event *event)
{
	return gang_is_class(class) || remote_hint(ctx, class, event);
}

enum pl_code config_gen_queue(struct sched *sched, struct config_gen *config_gen,
                              struct queue **out, struct pl_err *err)
{
	const struct sched_config *sched_config = &config_gen->sched_config;
	struct queue_opts opts = queue_opts_for(sched_config->sort);

	for (unsigned i = 0; i < plugins.count; i++) {
		sched->plugin[i] = (struct queue_plugin){.name = plugins.row[i]->name,
		                                         .events = plugins.row[i]->events,
		                                         .hint = hints[i]};
	}
	opts.fair = sched_config->fair;
	opts.backoff_first_ms = sched_config->backoff_first_ms;
	opts.backoff_max_ms = sched_config->backoff_max_ms;
	opts.seed = sched->opts.seed;
	sched->plugin[plugins.count] = (struct queue_plugin){
		.name = "Remote", .events = QUEUE_ON(DIGEST), .hint = hint_remote};
	opts.plugins = sched->plugin;
	opts.plugins_count = plugins.count + 1;
	opts.hint_ctx = sched;
	opts.owner = config_gen;
	return queue_new(&opts, out, err);
}

static enum pl_code parts_make(struct sched *sched, struct pl_err *err)
{
	size_t bytes = sched->opts.cache_bytes == 0 ? SETTINGS_CACHE_BYTES
	                                            : sched->opts.cache_bytes;
	struct cycle_opts cycle = {
		.snapshot = &sched->snapshot,
		.clock = sched->opts.clock,
		.clock_ctx = sched->opts.clock_ctx,
		.plugin_budget_ns =
			settings_plugin_budget_ns(sched->opts.plugin_budget_ms),
	};
	enum pl_code code =
		class_cache_new(&sched->snapshot, bytes, &sched->classes, err);

	if (code != PL_OK)
		return code;
	cycle.cache = class_cache_ops(sched->classes);
	sched->class_registry->opts.classes = sched->classes;
	code = cycle_new(&cycle, &sched->cycle, err);
	if (code == PL_OK && pl_buf_add(&sched->config_gen->sched_config.profiles,
	                                sched->opts.config) != PL_OK)
		code = pl_err_set(err, PL_NOMEM, "keep the profiles");
	sched->opts.config = (struct pl_span){0}; /* the config was borrowed */
	sched->config_gen->sched_config.sort = sched->opts.sort;
	if (code == PL_OK)
		code = config_gen_fill(sched->config_gen, err);
	sched->queue = sched->config_gen->queue;
	if (code == PL_OK)
		code = preemption_new(sched, err);
	if (code == PL_OK)
		code = pending_status_new(sched, err);
	if (code == PL_OK)
		code = gangs_init(sched, err);
	return code;
}

static void lists_init(struct sched *sched)
{
	model_init(&sched->model);
	sched->migrate_max = MIGRATE_MAX;
	pl_list_init(&sched->old_gens);
	sched->class_registry = &sched->config_gen->class_registry;
	conflicts_init(&sched->conflicts, &sched->model.strings);
	pl_map_init(&sched->nodes);
	pl_map_init(&sched->plans);
	pods_init(sched);
	pl_map_init(&sched->gangs.by_name);
	pl_list_init(&sched->gangs.dirty);
	pl_list_init(&sched->gangs.reporting);
	pl_list_init(&sched->ready);
	pl_list_init(&sched->wanted);
	pl_list_init(&sched->digests.remotes);
	remote_init(sched);
	disruption_init(sched);
	objects_init(sched);
	pl_list_init(&sched->incomplete);
	pl_list_init(&sched->unread);
	pl_list_init(&sched->sharing);
	pl_list_init(&sched->ending_unplaced);
	pl_list_init(&sched->ending_later);
	pl_list_init(&sched->orphans);
	pl_list_init(&sched->tainted);
	pl_list_init(&sched->reserving);
	pl_list_init(&sched->uncounted);
	pl_list_init(&sched->departures);
	for (unsigned i = 0; i < 2; i++) {
		pl_list_init(&sched->mismatched_pods[i]);
		pl_list_init(&sched->mismatched[i]);
	}
	pl_arena_init(&sched->arena, ARENA_CHUNK, READER_ARENA_MAX);
	pl_buf_init(&sched->buf, ALLOC_BYTES_MAX);
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		pl_arena_init(&sched->txn[i].arena, TXN_CHUNK, 0);
}

static void opts_set(struct sched *sched, const struct sched_opts *opts)
{
	sched->opts = *opts;
	if (opts->batch_size == 0)
		sched->opts.batch_size = BATCH_SIZE;
	if (opts->inflight == 0)
		sched->opts.inflight = INFLIGHT;
	if (opts->txn_timeout_ms == 0)
		sched->opts.txn_timeout_ms = TIMEOUT_MS;
	if (opts->statuses == 0 || opts->statuses > SCHED_STATUSES_MAX)
		sched->opts.statuses = SCHED_STATUSES_MAX;
	if (opts->reads == 0)
		sched->opts.reads = READS;
	PL_ASSERT(sched->opts.batch_size <= SCHED_BATCH_MAX);
	PL_ASSERT(sched->opts.inflight <= SCHED_INFLIGHT_MAX);
	PL_ASSERT(opts->partitions > 0 && opts->partitions <= KEYS_PARTITIONS_MAX);
	sched->batch_size = sched->opts.batch_size;
	sched->first_opts = sched->opts;
}

static enum pl_code partitions_make(struct sched *sched)
{
	sched->shard = pl_strdup(sched->opts.shard);
	sched->opts.shard = sched->shard;
	if (rules_init(sched) != PL_OK)
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
	sched->config_gen = config_gen_new(sched);
	if (sched->config_gen == NULL) {
		free(sched);
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	}
	lists_init(sched);
	batch_init(sched);
	gang_records_init(sched);
	large_gangs_init(sched);
	code = snapshot_init(&sched->snapshot, &sched->model, err);
	if (code != PL_OK) {
		config_gen_free(sched->config_gen);
		model_done(&sched->model);
		free(sched);
		return code;
	}
	code = partitions_make(sched);
	if (code != PL_OK)
		pl_err_set(err, code, "make a scheduler's partitions");
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
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		pl_arena_done(&sched->txn[i].arena);
	batch_done(sched);
	digests_done(sched);
	pending_status_free(sched);
	preemption_free(sched);
	large_gangs_done(sched);
	disruption_done(sched);
	nodes_done(sched);
	pods_done(sched);
	pl_map_done(&sched->plans);
	gangs_done(sched);
	gang_records_done(sched);
	PL_LIST_EACH (link, &sched->old_gens)
		config_gen_free(PL_LIST_ITEM(link, struct config_gen, link));
	config_gen_free(sched->config_gen);
	rules_done(sched);
	objects_done(sched);
	conflicts_done(&sched->conflicts);
	record_done(sched);
	cycle_free(sched->cycle);
	class_cache_free(sched->classes);
	snapshot_done(&sched->snapshot);
	spec_cache_done(&sched->spec_cache, &sched->model);
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
	coarse_lock_reset(sched);
}

/* -- partitions -------------------------------------------------------------------- */

static struct sched_partition *partition_at(const struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return &sched->partition[partition];
}

enum pl_code sched_own(struct sched *sched, uint32_t partition, int64_t epoch,
                       struct pl_err *err)
{
	struct sched_partition *part = partition_at(sched, partition);

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
	remote_list_drop(sched, partition);
	remote_reconcile(sched, partition);
	own_digest_dirty(sched, partition);
	return PL_OK;
}

/* Forgets what is known of the partition. Its nodes stay while the fleet view follows
 * them; its pods are known only if the partition was owned. */
static void partition_empty(struct sched *sched, struct sched_partition *part, bool ours,
                            bool followed)
{
	part->open = false;
	txn_drop_deferred(sched, part, !followed);
	PL_LIST_EACH (link, &part->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		if (followed)
			node_reconcile(sched, node);
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

/* Pods of the partition that own nodes list, and whose specs the partition's list was to
 * bring, are read by key from now on. */
static void want_specs(struct sched *sched, uint32_t partition)
{
	PODS_OF_EACH(pod, sched, partition)
	{
		if (pod->spec == NULL)
			alloc_entries_reconcile(sched, pod);
	}
}

void sched_lost(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = partition_at(sched, partition);
	bool listing = !part->ended[SCHED_SCHEDULES];

	if (!part->owned)
		return;
	part->owned = false;
	partition_empty(sched, part, true, fleet_view_is_on(&sched->fleet_view));
	if (listing)
		want_specs(sched, partition);
	own_digest_dirty(sched, partition);
	PL_ASSERT(part->work == 0);
	txn_drop_stale(sched);
}

void sched_rewound(struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		remote_list_drop(sched, i);
	fleet_view_forget(sched);
	digest_index_forget(sched);
	gang_records_forget(sched);
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		partition_empty(sched, &sched->partition[i], sched->partition[i].owned,
		                false);
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		sched->txn[i].rewound = true;
	rules_rewound(sched);
	disruption_forget(sched);
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++)
		objects_forget(sched, (enum sched_view)i);
	txn_drop_stale(sched);
}

void sched_quiesce(struct sched *sched, uint32_t partition)
{
	struct sched_partition *part = partition_at(sched, partition);

	if (!part->owned || part->quiet)
		return;
	part->quiet = true;
	PL_LIST_EACH (link, &part->nodes)
		node_reconcile(sched,
		               PL_LIST_ITEM(link, struct sched_node, of_partition));
	PODS_OF_EACH(pod, sched, partition)
	pod_reconcile(sched, pod);
}

bool sched_is_quiet(const struct sched *sched, uint32_t partition)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++) {
		const struct shard_txn *txn = &sched->txn[i];

		if (!txn_is_posted(txn) || txn->kind == TXN_READ)
			continue;
		for (uint32_t n = 0; n < txn->entries; n++) {
			const struct txn_entry *entry = &txn->entry[n];
			if ((entry->pod != NULL && entry->pod->key[0] == partition) ||
			    (entry->node != NULL && entry->node->partition == partition))
				return false;
		}
	}
	return partition_at(sched, partition)->work == 0;
}

bool sched_is_open(const struct sched *sched, uint32_t partition)
{
	return partition_at(sched, partition)->open;
}

uint32_t sched_load(const struct sched *sched, uint32_t partition)
{
	return partition_at(sched, partition)->work;
}

/* -- figures ----------------------------------------------------------------------- */

void sched_figures(const struct sched *sched, struct sched_figures *out)
{
	*out = sched->figures;
	out->nodes = sched->snapshot.nodes;
	out->remote = (uint32_t)(pl_bitset_count(sched->snapshot.open) -
	                         pl_bitset_count(sched->snapshot.local));
	out->pods = sched->pods.count;
	out->waiting = sched->waiting;
	out->batch_size = sched->batch_size;
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		out->inflight += txn_is_posted(&sched->txn[i]);
}

void sched_conflicts(const struct sched *sched, struct conflict_summary *out)
{
	conflicts_summarize(&sched->conflicts, sched->now_ms, out);
}

void sched_queue_stats(const struct sched *sched, struct queue_stats *out)
{
	queue_stats(sched->queue, out);
	PL_LIST_EACH (link, &sched->old_gens) {
		struct queue_stats old;

		queue_stats(PL_LIST_ITEM(link, struct config_gen, link)->queue, &old);
		for (unsigned i = 0; i < QUEUE_PLACES; i++)
			out->pods[i] += old.pods[i];
		out->classes += old.classes;
		out->classes_waiting += old.classes_waiting;
	}
}
