/* Walks over what a shard has, done when its metrics are asked for. */
#include "shardsched/shard/gangs/gangs.h"
#include "shardsched/shard/inner.h"

struct pl_span sched_string(const struct sched *sched, uint32_t id)
{
	return sched_text(sched, id);
}

const struct histogram *sched_plugin_ns(const struct sched *sched, unsigned plugin,
                                        enum point point)
{
	struct plugin_metrics metrics;

	cycle_plugin_metrics(sched->cycle, plugin, &metrics);
	return metrics.took_ns[point];
}

/* -- classes ----------------------------------------------------------------------------- */

struct class_survey {
	const struct sched *sched;
	sched_class_fn *fn;
	void *ctx;
	uint32_t left;
};

static void survey_class(struct class_survey *survey, const struct queue_class *class,
                         struct pl_span namespace, struct pl_span scheduler)
{
	if (class->pods == 0 || survey->left == 0)
		return;
	survey->left--;
	survey->fn(survey->ctx,
	           &(struct sched_class_survey){.namespace = namespace,
	                                        .scheduler = scheduler,
	                                        .pods = class->pods,
	                                        .waiting = rank_sum(&class->waiting),
	                                        .refused_by = class->refused_by});
}

static void survey_registered(struct class_survey *survey,
                              const struct class_registry *registry,
                              struct registered_class *open)
{
	struct pl_span namespace = sched_text(survey->sched, open->spec->namespace);
	struct pl_span scheduler = sched_text(
		survey->sched, class_registry_profile(registry, open)->scheduler);
	struct class_rare *rare = class_more_of(open)->rare;

	survey_class(survey, queue_class_of(open), namespace, scheduler);
	if (rare == NULL)
		return;
	PL_LIST_EACH (link, &rare->own)
		survey_class(survey,
		             &PL_LIST_ITEM(link, struct own_class, of_open)->queue,
		             namespace, scheduler);
}

/* A gang counts as one. */
static void survey_gangs(struct class_survey *survey)
{
	PL_MAP_EACH (at, &survey->sched->gangs.by_name) {
		const struct sched_gang *gang =
			PL_CONTAINER_OF(at, struct sched_gang, by_name);

		if (survey->left == 0)
			return;
		if (gang->open)
			survey_class(survey, &gang->class,
			             sched_text(survey->sched, gang->key[1]),
			             (struct pl_span){0});
	}
}

void sched_survey_classes(const struct sched *sched, uint32_t max, sched_class_fn *fn,
                          void *ctx)
{
	struct class_survey survey = {.sched = sched, .fn = fn, .ctx = ctx, .left = max};
	const struct class_registry *registry = sched->class_registry;
	struct registered_class *open;
	uint32_t at = 0;

	survey_gangs(&survey);
	while (survey.left > 0 && (open = class_registry_next(registry, &at)) != NULL)
		survey_registered(&survey, registry, open);
}

/* -- nodes ------------------------------------------------------------------------------- */

/* 0: up to a tenth is in use, ..., 9: up to all of it; 10: more than there is. */
static unsigned share_of(int64_t used, int64_t all)
{
	double share;

	if (used <= 0)
		return 0;
	if (used > all)
		return SCHED_METRICS_SHARES - 1;
	share = (double)(used - 1) * 10 / (double)all;
	return share < 9 ? (unsigned)share : 9;
}

static struct sched_cluster_survey *cluster_row(struct sched_node_survey *out,
                                                uint32_t cluster)
{
	for (uint32_t i = 0; i < out->clusters; i++)
		if (out->cluster[i].cluster == cluster)
			return &out->cluster[i];
	if (out->clusters == SCHED_METRICS_CLUSTERS)
		return &out->cluster[SCHED_METRICS_CLUSTERS - 1];
	out->cluster[out->clusters].cluster =
		out->clusters == SCHED_METRICS_CLUSTERS - 1 ? 0 : cluster;
	return &out->cluster[out->clusters++];
}

void sched_survey_nodes(const struct sched *sched, struct sched_node_survey *out)
{
	const struct snapshot *snapshot = &sched->snapshot;
	struct sched_cluster_survey *row = NULL;
	uint32_t cluster = 0;

	*out = (struct sched_node_survey){0};
	PL_BITSET_EACH (slot, snapshot->local) {
		const struct node_row *node = &snapshot->row[slot];

		if (row == NULL || node->cluster != cluster)
			row = cluster_row(out, node->cluster);
		cluster = node->cluster;
		row->nodes[SCHED_USE_CPU]
			  [share_of(node->used.cpu_milli, node->alloc.cpu_milli)]++;
		row->nodes[SCHED_USE_MEMORY]
			  [share_of(node->used.memory, node->alloc.memory)]++;
		row->nodes[SCHED_USE_PODS][share_of(node->used.pods, node->alloc.pods)]++;
	}
}
