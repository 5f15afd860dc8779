/*
 * Classes of pods in the queue. Equal pods share the registered class and its place in
 * the queue. Where claims are named after the pod, each pod has its own verdicts and so a
 * class of its own in the queue, from when it enters to when it leaves.
 */
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/cache/cache.h"
#include "store/base/alloc.h"

/* A plugin whose hint needs the prepared class has it prepared for the question. */
static bool plugin_call_of(struct sched *sched, unsigned plugin,
                           const struct registered_class *open,
                           const struct queue_event *event, struct plugin_call *out)
{
	const struct class_more *more = (const void *)open->extra;
	struct class_registry *class_registry =
		&((struct config_gen *)queue_class_owner(&more->queue))->class_registry;
	struct fw_class *class;
	struct pl_err err = {0};

	if ((plugins.row[plugin]->hint_needs_class >> event->kind & 1) == 0) {
		fw_spec_call(class_registry_profile(class_registry, open), open->spec,
		             &sched->snapshot, plugin, out);
		return true;
	}
	if (class_registry_fw(class_registry,
	                      class_registry_find(class_registry, open->spec), &class,
	                      &err) != PL_OK)
		return false;
	fw_class_call(class, &sched->snapshot, plugin, out);
	return true;
}

bool sched_hint(struct sched *sched, unsigned plugin, const struct queue_class *class,
                const struct queue_event *event)
{
	const struct plugin *row = plugins.row[plugin];
	const struct own_class *own = own_class_of_const(class);
	struct pod_self self = {.nominated = SNAPSHOT_NONE};
	struct plugin_call hint_call;

	if (row->hint == NULL)
		return true;
	if (!plugin_call_of(sched, plugin, pool_class_of_const(class), event, &hint_call))
		return true;
	if (own != NULL) {
		self.name = own->pod->key[2];
		self.uid = pod_uid(sched, own->pod);
		self.created_ms = own->pod->created_ms;
		hint_call.pod = &self;
	}
	return row->hint(&hint_call, event);
}

static enum queue_level level_of(const struct spec *spec)
{
	switch ((enum spec_sla)spec->sla) {
	case SPEC_SLA_BRONZE:
		return QUEUE_BRONZE;
	case SPEC_SLA_SILVER:
		return QUEUE_SILVER;
	case SPEC_SLA_GOLD:
		return QUEUE_GOLD;
	case SPEC_SLA_NONE:
		break;
	}
	return QUEUE_NO_SLA;
}

static enum pl_code queue_class_make(const struct config_gen *config_gen,
                                     const struct spec *spec, unsigned lane, uint8_t kind,
                                     struct queue_class *out, struct pl_err *err)
{
	const struct queue_class_opts opts = {
		.namespace_id = spec->namespace,
		.priority = spec->priority,
		.level = level_of(spec),
		.weight = sched_config_weight(&config_gen->sched_config, spec->namespace),
		.lane = lane,
		.kind = kind};

	return queue_class_open(config_gen->queue, out, &opts, err);
}

struct class_rare *class_rare_get(struct class_more *more)
{
	if (more->rare != NULL)
		return more->rare;
	more->rare = pl_calloc(1, sizeof *more->rare);
	if (more->rare != NULL)
		pl_list_init(&more->rare->own);
	return more->rare;
}

static void rare_free(struct class_more *more)
{
	if (more->rare == NULL)
		return;
	remote_search_free(more->rare->remote_search);
	free(more->rare);
	more->rare = NULL;
}

enum pl_code class_opened(void *ctx, struct registered_class *open, struct pl_err *err)
{
	struct config_gen *config_gen = ctx;
	struct class_more *more = class_more_of(open);
	enum pl_code code = queue_class_make(config_gen, open->spec, LANE_PLAIN,
	                                     CLASS_SHARED, &more->queue, err);

	if (code != PL_OK)
		return code;
	code = rules_class_opened(config_gen->sched, open, err);
	if (code == PL_OK)
		return PL_OK;
	rare_free(more);
	queue_class_close(config_gen->queue, &more->queue);
	return code;
}

void class_closing(void *ctx, struct registered_class *open)
{
	struct config_gen *config_gen = ctx;
	struct class_more *more = class_more_of(open);

	PL_ASSERT(more->rare == NULL || pl_list_empty(&more->rare->own));
	rules_class_closing(config_gen->sched, open);
	rare_free(more);
	queue_class_close(config_gen->queue, &more->queue);
}

/* A gang is in the queue by its one entry, which has a class already. */
static bool has_own_class(const struct sched_pod *pod)
{
	return pod_gang(pod) == NULL && (pod->spec->flags & SPEC_BY_NAME) != 0;
}

enum pl_code class_enter(struct sched_pod *pod, struct registered_class *open,
                         struct queue_class **out, struct pl_err *err)
{
	struct class_rare *rare;
	struct own_class *own;
	enum pl_code code;

	if (!has_own_class(pod)) {
		*out = queue_class_of(open);
		return PL_OK;
	}
	rare = class_rare_get(class_more_of(open));
	own = rare == NULL ? NULL : pl_calloc(1, sizeof *own);
	if (own == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a pod in the queue");
	code = queue_class_make(config_gen_of(open), open->spec,
	                        class_rules_of(open)->lane, CLASS_OWN, &own->queue, err);
	if (code != PL_OK) {
		free(own);
		return code;
	}
	own->pod = pod;
	own->open = open;
	pl_list_init(&own->of_open);
	pl_list_add_tail(&rare->own, &own->of_open);
	*out = &own->queue;
	return PL_OK;
}

void class_leave(struct queue_class *class)
{
	struct own_class *own = own_class_of(class);

	if (own == NULL)
		return;
	remote_search_free(own->remote_search);
	queue_class_close(config_gen_of(own->open)->queue, &own->queue);
	pl_list_del(&own->of_open);
	free(own);
}
