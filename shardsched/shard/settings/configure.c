/*
 * Live configuration: from one config_gen to the next.
 *
 * Profiles are immutable, classes are registered by them, and the queue's order is made
 * of classes. So nothing of the old generation is changed: a new one is made, with
 * profiles, a queue and classes of its own, and pods migrate to it one by one, a bounded
 * number in each turn, each with its place in the queue. Nothing is decided and nothing
 * new is sent before all have migrated. Whatever can fail is done before the first pod
 * migrates; a pod for which memory is missing on its way is tried again like any pod that
 * could not be queued (report_repair).
 *
 *	in the queue        taken out and put into the new queue, to be tried at once
 *	waits at its node   the same: it was decided by the old profiles and is in no txn
 *	in a txn            stays there without a class; if the txn fails it starts anew
 *	has no profile      looked at again: it may have one now
 *
 * A pod that comes meanwhile belongs to the latest generation and stands behind those
 * that waited.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/base/alloc.h"

enum { CONFIG_TEXT_MAX = 2 << 20 };

/* -- settings of a generation ------------------------------------------------------ */

static void config_done(struct sched *sched, struct sched_config *sched_config)
{
	for (uint32_t i = 0; i < sched_config->weights; i++)
		strings_unref(&sched->model.strings, sched_config->weight[i].namespace);
	free(sched_config->weight);
	pl_buf_done(&sched_config->profiles);
	*sched_config = (struct sched_config){0};
}

static int compare_weights(const void *a, const void *b)
{
	const struct sched_config_weight *x = a, *y = b;

	return x->namespace < y->namespace ? -1 : x->namespace > y->namespace;
}

uint32_t sched_config_weight(const struct sched_config *sched_config, uint32_t namespace)
{
	const struct sched_config_weight key = {.namespace = namespace}, *at = NULL;

	if (sched_config->weights > 0)
		at = bsearch(&key, sched_config->weight, sched_config->weights,
		             sizeof key, compare_weights);
	return at == NULL ? 0 : at->weight;
}

static enum pl_code make_weights(struct sched *sched,
                                 const struct sched_settings *settings,
                                 struct sched_config *out)
{
	if (settings->weights == 0)
		return PL_OK;
	out->weight = pl_calloc(settings->weights, sizeof *out->weight);
	if (out->weight == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < settings->weights; i++) {
		struct sched_config_weight *weight = &out->weight[i];
		enum pl_code code =
			strings_add(&sched->model.strings, settings->weight[i].namespace,
		                    &weight->namespace);

		if (code != PL_OK)
			return code;
		weight->weight = settings->weight[i].weight;
		out->weights++;
	}
	qsort(out->weight, out->weights, sizeof *out->weight, compare_weights);
	return PL_OK;
}

static enum pl_code make_config(struct sched *sched,
                                const struct sched_settings *settings,
                                struct sched_config *out, struct pl_err *err)
{
	enum pl_code code;

	out->sort = settings->sort;
	out->fair = settings->fair;
	out->backoff_first_ms = settings->backoff_first_ms;
	out->backoff_max_ms = settings->backoff_max_ms;
	code = pl_buf_add(&out->profiles, settings->profiles);
	if (code == PL_OK)
		code = make_weights(sched, settings, out);
	return code == PL_OK ? code : pl_err_set(err, code, "keep the settings");
}

static bool is_same_config(const struct sched_config *a, const struct sched_config *b)
{
	if (a->sort != b->sort || a->fair != b->fair || a->weights != b->weights ||
	    a->backoff_first_ms != b->backoff_first_ms ||
	    a->backoff_max_ms != b->backoff_max_ms)
		return false;
	for (uint32_t i = 0; i < a->weights; i++)
		if (a->weight[i].namespace != b->weight[i].namespace ||
		    a->weight[i].weight != b->weight[i].weight)
			return false;
	return pl_span_eq(pl_buf_span(&a->profiles), pl_buf_span(&b->profiles));
}

static uint32_t ready_max(const struct sched *sched)
{
	return sched->opts.ready_classes == 0 ? SCHED_READY_CLASSES
	                                      : sched->opts.ready_classes;
}

struct config_gen *config_gen_new(struct sched *sched)
{
	struct config_gen *config_gen = pl_calloc(1, sizeof *config_gen);
	struct class_registry_opts class_registry = {.snapshot = &sched->snapshot,
	                                             .classes = sched->classes,
	                                             .ready_max = ready_max(sched),
	                                             .extra_size =
	                                                     sizeof(struct class_more),
	                                             .local = true,
	                                             .on_opened = class_opened,
	                                             .on_closing = class_closing};

	if (config_gen == NULL)
		return NULL;
	config_gen->sched = sched;
	config_gen->profiles.model = &sched->model;
	pl_list_init(&config_gen->link);
	pl_buf_init(&config_gen->sched_config.profiles, CONFIG_TEXT_MAX);
	class_registry.profiles = &config_gen->profiles;
	class_registry.ctx = config_gen;
	class_registry_init(&config_gen->class_registry, &class_registry);
	return config_gen;
}

void config_gen_free(struct config_gen *config_gen)
{
	if (config_gen == NULL)
		return;
	pl_list_del(&config_gen->link);
	class_registry_done(&config_gen->class_registry);
	if (config_gen->queue != NULL)
		queue_free(config_gen->queue);
	profiles_drop(&config_gen->profiles);
	config_done(config_gen->sched, &config_gen->sched_config);
	free(config_gen);
}

enum pl_code config_gen_fill(struct config_gen *config_gen, struct pl_err *err)
{
	struct sched *sched = config_gen->sched;
	enum pl_code code = profiles_parse(
		&sched->model, &plugins, pl_buf_span(&config_gen->sched_config.profiles),
		&config_gen->profiles, err);

	return code == PL_OK
	               ? config_gen_queue(sched, config_gen, &config_gen->queue, err)
	               : code;
}

/* -- migration --------------------------------------------------------------------- */

static void begin_migration(struct sched *sched, struct config_gen *next)
{
	gangs_close(sched);
	queue_continue(next->queue, sched->queue);
	pl_list_add_tail(&sched->old_gens, &sched->config_gen->link);
	sched->config_gen = next;
	sched->queue = next->queue;
	sched->class_registry = &next->class_registry;
	sched->migrating = pods_all(sched);
}

/* A pod that was refused for want of a profile is in no queue. */
static void migrate_unqueued(struct sched *sched, struct sched_pod *pod)
{
	if ((pod->flags & POD_REFUSED) == 0 || pod->stage != POD_IDLE)
		return;
	pod->flags &= (uint16_t)~POD_REFUSED;
	pod_reconcile(sched, pod);
}

static void migrate_pod(struct sched *sched, struct sched_pod *pod)
{
	struct queue_order turn = queue_order_of(&pod->queue);

	if (pod->queue.class == NULL) {
		migrate_unqueued(sched, pod);
		return;
	}
	if (config_gen_of(pool_class_of(pod->queue.class)) == sched->config_gen)
		return;
	if (pod->stage == POD_COMMITTING) {
		pod_dequeue(sched, pod);
		return;
	}
	pod->attempts += pod->queue.attempts;
	pod_withdraw(sched, pod);
	sched->turn = &turn;
	pod_reconcile(sched, pod);
	sched->turn = NULL;
}

void config_migrate_run(struct sched *sched)
{
	for (uint32_t i = 0; i < sched->migrate_max && sched->migrating != NULL; i++) {
		struct sched_pod *pod = sched->migrating;

		sched->migrating = pods_after(sched, pod);
		migrate_pod(sched, pod);
	}
	if (sched->migrating != NULL)
		return;
	PL_LIST_EACH (link, &sched->old_gens)
		config_gen_free(PL_LIST_ITEM(link, struct config_gen, link));
}

void config_migrate_forget(struct sched *sched, const struct sched_pod *pod)
{
	if (sched->migrating == pod)
		sched->migrating = pods_after(sched, pod);
}

static void apply_tunables(struct sched *sched, const struct sched_settings *settings)
{
	const struct sched_opts *first_opts = &sched->first_opts;
	size_t bytes = settings->cache_bytes != 0 ? (size_t)settings->cache_bytes
	                                          : first_opts->cache_bytes;

	sched->opts.batch_size =
		settings->batch_size != 0 ? settings->batch_size : first_opts->batch_size;
	sched->opts.inflight =
		settings->inflight != 0 ? settings->inflight : first_opts->inflight;
	PL_ASSERT(sched->opts.batch_size <= SCHED_BATCH_MAX);
	PL_ASSERT(sched->opts.inflight <= SCHED_INFLIGHT_MAX);
	sched->batch_size = sched->opts.batch_size;
	sched->opts.plugin_budget_ms = settings->plugin_budget_ms != 0
	                                       ? settings->plugin_budget_ms
	                                       : first_opts->plugin_budget_ms;
	cycle_set_plugin_budget(sched->cycle,
	                        settings_plugin_budget_ns(sched->opts.plugin_budget_ms));
	class_cache_bound(sched->classes, bytes == 0 ? SETTINGS_CACHE_BYTES : bytes);
}

enum pl_code sched_configure(struct sched *sched, const struct sched_settings *settings,
                             struct pl_err *err)
{
	struct config_gen *next = config_gen_new(sched);
	enum pl_code code = PL_NOMEM;
	bool same;

	if (next == NULL)
		return pl_err_set(err, code, "keep the settings");
	code = make_config(sched, settings, &next->sched_config, err);
	same = code == PL_OK &&
	       is_same_config(&next->sched_config, &sched->config_gen->sched_config);
	if (code == PL_OK && !same)
		code = config_gen_fill(next, err);
	if (code == PL_OK)
		apply_tunables(sched, settings);
	if (code == PL_OK && !same)
		begin_migration(sched, next);
	else
		config_gen_free(next);
	return code;
}
