#include "coord/service/explain/store_snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/snapshot/object_catalog.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 1 << 16, PODS_CHUNK = 1 << 20, PODS_MAX = 1 << 30 };

struct store_slot {
	uint32_t partition;
	bool alloc; /* was seen */
};

struct expected_pod {
	struct pl_map_node by_key;
	uint32_t slot;       /* SNAPSHOT_NONE: the node is left out */
	struct pl_span node; /* then its name, "east/n-1" */
	uint8_t key[];
};

static const struct {
	const char *code, *words;
} flaws[] = {
#define FLAW_ROW(flaw, code, words) {code, words},
	STORE_FLAW_MAP(FLAW_ROW)};

const char *store_flaw_code(enum store_flaw flaw)
{
	return flaws[flaw].code;
}

const char *store_flaw_words(enum store_flaw flaw)
{
	return flaws[flaw].words;
}

uint32_t store_snapshot_partition(const struct store_snapshot *cluster, uint32_t slot)
{
	PL_ASSERT(slot < cluster->slots);
	return cluster->slot[slot].partition;
}

/* A failure of the reading; any other code concerns one node. */
static bool ends_reading(enum pl_code code)
{
	return code == PL_NOMEM;
}

static void count_excluded(struct store_snapshot *cluster, enum store_flaw what,
                           const struct keys_id *id, const struct pl_err *err)
{
	struct excluded_nodes *flaw = &cluster->flaw[what];
	struct keys_id node = *id;

	if (flaw->nodes++ > 0)
		return;
	node.kind = KEYS_NODE;
	(void)!keys_build(&node, &flaw->first, NULL);
	if (err != NULL)
		flaw->err = *err;
}

static void report_progress(struct store_snapshot *cluster, const char *what,
                            uint64_t count)
{
	if (cluster->progress != NULL)
		cluster->progress(cluster->ctx, what, count);
}

/* -- cluster objects ------------------------------------------------------------------
 */

#define OBJECT_PREFIX(kind, group, resource, in) "/objects/" group "/" resource "/",
#define OBJECT_STAGE(kind, group, resource, in) STAGE_##kind,
enum {
	CLUSTER_FOLLOWED_MAP(OBJECT_STAGE) STAGE_NODES,
	STAGE_ALLOCS,
	STAGE_SCHEDULES,
	STAGES
};

static struct parse parse_of(struct store_snapshot *cluster)
{
	return (struct parse){.model = engine_model(cluster->engine),
	                      .arena = &cluster->arena};
}

static enum pl_code on_object(struct store_snapshot *cluster,
                              const struct kv_record *record, struct pl_err *err)
{
	struct parse parse = parse_of(cluster);
	struct cluster_object object;
	struct pl_err why = {0};
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK ||
	    cluster_object_kind_of(&id) == CLUSTER_OBJECT_KINDS)
		return PL_OK;
	pl_arena_reset(&cluster->arena);
	code = cluster_object_read(&id, &parse, record->value, &object, &why);
	if (code == PL_OK)
		code = object_catalog_put(&engine_snapshot(cluster->engine)->catalog,
		                          &object, &why);
	if (ends_reading(code)) {
		*err = why;
		return code;
	}
	if (code == PL_OK)
		report_progress(cluster, "cluster objects", ++cluster->objects);
	return PL_OK;
}

enum pl_code store_snapshot_see_namespace(struct store_snapshot *cluster,
                                          struct pl_span name, struct pl_err *err)
{
	struct catalog *catalog = &engine_snapshot(cluster->engine)->catalog;
	struct parse parse = parse_of(cluster);
	struct namespace made;
	uint32_t id;
	enum pl_code code = strings_add(&parse.model->strings, name, &id);

	if (code != PL_OK)
		return pl_err_set(err, code, "keep a namespace");
	if (catalog_namespace_labels(catalog, id) == NULL) {
		code = cluster_namespace_default(&parse, id, &made);
		if (code == PL_OK)
			code = catalog_put_namespace(catalog, &made, err);
	}
	strings_unref(&parse.model->strings, id);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "keep a namespace");
}

/* -- nodes ----------------------------------------------------------------------------
 */

static uint32_t slot_of(struct store_snapshot *cluster, struct pl_span of,
                        struct pl_span name)
{
	const struct strings *strings = &engine_model(cluster->engine)->strings;
	uint32_t key[2] = {strings_find(strings, of), strings_find(strings, name)};

	if (key[0] == 0 || key[1] == 0)
		return SNAPSHOT_NONE;
	return snapshot_node_find(engine_snapshot(cluster->engine), key[0], key[1]);
}

static bool slot_reserve(struct store_snapshot *cluster, uint32_t slot)
{
	uint32_t slots = engine_snapshot(cluster->engine)->capacity;
	struct store_slot *grown;

	if (slot < cluster->slots)
		return true;
	grown = pl_realloc(cluster->slot, slots * sizeof *grown);
	if (grown == NULL)
		return false;
	memset(grown + cluster->slots, 0, (slots - cluster->slots) * sizeof *grown);
	cluster->slot = grown;
	cluster->slots = slots;
	return true;
}

static bool is_left_out(const struct store_snapshot *cluster, struct pl_span of)
{
	for (unsigned i = 0; i < cluster->withouts; i++)
		if (pl_span_eq(cluster->without[i], of))
			return true;
	return false;
}

static enum pl_code on_node(void *ctx, const struct kv_record *record, struct pl_err *err)
{
	struct store_snapshot *cluster = ctx;
	struct field_errors errors;
	struct keys_id id;
	uint32_t slot;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_NODE)
		return PL_OK;
	if (is_left_out(cluster, id.scope)) {
		cluster->without_nodes++;
		return PL_OK;
	}
	report_progress(cluster, "nodes", ++cluster->nodes);
	code = engine_put_in(cluster->engine, ENGINE_NODE, id.scope, record->value,
	                     &errors, err);
	if (ends_reading(code))
		return code;
	slot = code == PL_OK ? slot_of(cluster, id.scope, id.name) : SNAPSHOT_NONE;
	if (slot == SNAPSHOT_NONE) {
		count_excluded(cluster, STORE_FLAW_NODE, &id, code == PL_OK ? NULL : err);
		*err = (struct pl_err){0};
		return PL_OK;
	}
	if (!slot_reserve(cluster, slot))
		return pl_err_set(err, PL_NOMEM, "keep the nodes");
	cluster->slot[slot].partition = id.partition;
	return PL_OK;
}

static enum pl_code exclude_node(struct store_snapshot *cluster, uint32_t slot,
                                 enum store_flaw what, const struct pl_err *why,
                                 struct pl_err *err)
{
	const struct model *model = engine_model(cluster->engine);
	const struct node_row *row = &engine_snapshot(cluster->engine)->row[slot];
	const struct keys_id id = {.partition = cluster->slot[slot].partition,
	                           .scope = model_text(model, row->cluster),
	                           .name = model_text(model, row->node.name)};

	count_excluded(cluster, what, &id, why);
	return engine_drop(cluster->engine, ENGINE_NODE, id.scope, id.name, err);
}

/* -- allocs ---------------------------------------------------------------------------
 */

static bool is_subject(const struct store_snapshot *cluster, uint32_t partition,
                       struct pl_span namespace, struct pl_span name)
{
	return partition == cluster->partition &&
	       pl_span_eq(namespace, cluster->namespace) &&
	       pl_span_eq(name, cluster->name);
}

static enum pl_code keep_pod(struct store_snapshot *cluster, const struct alloc_pod *pod,
                             uint32_t slot, struct pl_span node, struct pl_err *err)
{
	char key[KEYS_SIZE_MAX];
	int len = snprintf(key, sizeof key, "%04u/" PL_SPAN_FMT "/" PL_SPAN_FMT,
	                   pod->partition, PL_SPAN_ARG(pod->namespace),
	                   PL_SPAN_ARG(pod->name));
	struct expected_pod *on;

	if (len < 0 || (size_t)len >= sizeof key ||
	    is_subject(cluster, pod->partition, pod->namespace, pod->name))
		return PL_OK;
	on = pl_arena_zalloc(&cluster->pods_arena, 1, sizeof *on + (size_t)len);
	if (on == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods of the nodes");
	on->slot = slot;
	on->node = node;
	memcpy(on->key, key, (size_t)len);
	(void)!pl_map_add(&cluster->pods, &on->by_key, pl_span(on->key, (size_t)len));
	return PL_OK;
}

static const struct resources *resources_of(struct model *model, struct pl_arena *arena,
                                            const struct alloc_amounts *used)
{
	struct resource_sums stats = {
		.at = pl_arena_zalloc(arena, RESOURCE_NAMES_MAX, sizeof *stats.at)};
	struct maker maker;
	const struct resources *made;
	bool fits;

	if (stats.at == NULL)
		return NULL;
	fits = resource_sums_add(&stats, PL_SPAN_LIT("cpu"),
	                         (pl_int128)used->cpu_milli * 1000000) &&
	       resource_sums_add(&stats, PL_SPAN_LIT("memory"),
	                         (pl_int128)used->memory * 1000000000) &&
	       resource_sums_add(&stats, PL_SPAN_LIT("ephemeral-storage"),
	                         (pl_int128)used->storage * 1000000000) &&
	       resource_sums_add(&stats, PL_SPAN_LIT("pods"),
	                         (pl_int128)used->pods * 1000000000);
	for (uint32_t i = 0; i < used->scalars && fits; i++)
		fits = resource_sums_add(&stats, used->scalar[i].name,
		                         (pl_int128)used->scalar[i].amount * 1000000000);
	if (!fits)
		return NULL;
	maker_init(&maker, model, arena);
	made = resources_make(&maker, &stats, false);
	return maker.code == PL_OK ? made : NULL;
}

static enum pl_code add_hold(struct store_snapshot *cluster,
                             const struct alloc_reservation *hold, uint32_t slot,
                             struct pl_err *err)
{
	struct model *model = engine_model(cluster->engine);
	struct node_reservation is = {.nonzero_cpu_milli = hold->used.nonzero_cpu_milli,
	                              .nonzero_memory = hold->used.nonzero_memory};
	uint32_t number;
	enum pl_code code;

	if (hold->kind == ALLOC_RESERVATION_NOMINATED &&
	    pl_span_eq(hold->namespace, cluster->namespace) &&
	    pl_span_eq(hold->name, cluster->name)) {
		cluster->kept_room = true;
		return PL_OK;
	}
	is.amounts = resources_of(model, &cluster->arena, &hold->used);
	if (is.amounts == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a hold");
	code = snapshot_reserve(engine_snapshot(cluster->engine), slot, &is, &number,
	                        err);
	model_unref(model, MODEL_RESOURCES, is.amounts);
	cluster->holds += code == PL_OK;
	return code;
}

/* Excludes the node, as a shard does. */
static void exclude_closed(struct store_snapshot *cluster, const struct alloc *alloc,
                           const struct keys_id *id, uint32_t slot)
{
	for (uint32_t i = 0; i < alloc->holds; i++) {
		struct pl_err why;

		if (alloc->hold[i].kind != ALLOC_RESERVATION_GANG)
			continue;
		pl_err_set(&why, PL_BUSY, PL_SPAN_FMT "/" PL_SPAN_FMT,
		           PL_SPAN_ARG(alloc->hold[i].namespace),
		           PL_SPAN_ARG(alloc->hold[i].name));
		count_excluded(cluster, STORE_FLAW_CLOSED, id, &why);
		snapshot_node_set_scope(engine_snapshot(cluster->engine), slot,
		                        NODE_EXCLUDED);
		return;
	}
}

static enum pl_code apply_alloc(struct store_snapshot *cluster, const struct alloc *alloc,
                                uint32_t slot, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	cluster->slot[slot].alloc = true;
	for (uint32_t i = 0; i < alloc->pods && code == PL_OK; i++)
		code = keep_pod(cluster, &alloc->pod[i], slot, (struct pl_span){0}, err);
	for (uint32_t i = 0; i < alloc->holds && code == PL_OK; i++)
		code = add_hold(cluster, &alloc->hold[i], slot, err);
	return code;
}

/* Keeps the pods of a node that is left out, to be handed over. */
static enum pl_code displace_pods(struct store_snapshot *cluster,
                                  const struct keys_id *id, struct pl_span value,
                                  struct pl_err *err)
{
	struct alloc alloc;
	struct pl_err why = {0};
	char name[KEYS_SIZE_MAX];
	struct pl_span node;
	enum pl_code code;

	pl_arena_reset(&cluster->arena);
	code = alloc_parse(value, &cluster->arena, &alloc, &why);
	if (ends_reading(code)) {
		*err = why;
		return code;
	}
	if (code != PL_OK) {
		count_excluded(cluster, STORE_FLAW_ALLOC, id, &why);
		return PL_OK;
	}
	(void)snprintf(name, sizeof name, PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(id->scope), PL_SPAN_ARG(id->name));
	node = pl_arena_dup(&cluster->pods_arena, pl_span_str(name));
	if (node.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods of the nodes");
	for (uint32_t i = 0; i < alloc.pods && code == PL_OK; i++)
		code = keep_pod(cluster, &alloc.pod[i], SNAPSHOT_NONE, node, err);
	return code;
}

static enum pl_code on_alloc(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct store_snapshot *cluster = ctx;
	struct alloc alloc;
	struct keys_id id;
	struct pl_err why = {0};
	uint32_t slot;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_ALLOC)
		return PL_OK;
	if (is_left_out(cluster, id.scope))
		return displace_pods(cluster, &id, record->value, err);
	slot = slot_of(cluster, id.scope, id.name);
	if (slot == SNAPSHOT_NONE)
		return PL_OK; /* of a node that is gone, or is malformed */
	pl_arena_reset(&cluster->arena);
	code = alloc_parse(record->value, &cluster->arena, &alloc, &why);
	if (code == PL_OK) {
		exclude_closed(cluster, &alloc, &id, slot);
		return apply_alloc(cluster, &alloc, slot, err);
	}
	if (ends_reading(code)) {
		*err = why;
		return code;
	}
	return exclude_node(cluster, slot, STORE_FLAW_ALLOC, &why, err);
}

static enum pl_code drop_nodes_without_alloc(struct store_snapshot *cluster,
                                             struct pl_err *err)
{
	const struct snapshot *snapshot = engine_snapshot(cluster->engine);
	enum pl_code code = PL_OK;

	for (uint32_t slot = 0; slot < cluster->slots && code == PL_OK; slot++)
		if (slot < snapshot->slots && snapshot->row[slot].node.name != 0 &&
		    !cluster->slot[slot].alloc)
			code = exclude_node(cluster, slot, STORE_FLAW_NO_ALLOC, NULL,
			                    err);
	return code;
}

/* -- pods -----------------------------------------------------------------------------
 */

/* "0007/web/app-1" of its keys. */
static struct pl_span key_of(struct pl_span key, size_t leaf)
{
	size_t prefix = strlen("/schedules/");

	return pl_span(key.at + prefix, key.len - prefix - leaf);
}

static enum pl_code place_pod(struct store_snapshot *cluster, struct expected_pod *on,
                              struct pl_span json, struct pl_err *err)
{
	struct model *model = engine_model(cluster->engine);
	struct field_errors errors;
	struct parse parse = {.model = model,
	                      .arena = &cluster->arena,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct pod pod;
	enum pl_code code;

	pl_arena_reset(&cluster->arena);
	code = pod_parse(&parse, json, &pod, err);
	if (code != PL_OK)
		return code;
	code = store_snapshot_see_namespace(cluster,
	                                    model_text(model, pod.spec->namespace), err);
	if (code == PL_OK)
		code = engine_assume(cluster->engine, &pod, on->slot,
		                     &cluster->last_placed, err);
	pod_drop(model, &pod);
	return code;
}

static bool is_in_snapshot(const struct store_snapshot *cluster, uint32_t slot)
{
	return slot != SNAPSHOT_NONE &&
	       engine_snapshot(cluster->engine)->row[slot].node.name != 0;
}

static bool is_on_node(const struct store_snapshot *cluster, struct pl_span key)
{
	return pl_map_get(&cluster->pods, key_of(key, strlen("/spec"))) != NULL;
}

static enum pl_code on_spec(struct store_snapshot *cluster, const struct keys_id *id,
                            const struct kv_record *record, struct pl_err *err)
{
	struct pl_span key = key_of(record->key, strlen("/spec"));
	struct pl_map_node *at = pl_map_get(&cluster->pods, key);
	struct expected_pod *on = PL_CONTAINER_OF(at, struct expected_pod, by_key);
	struct pl_err why = {0};
	enum pl_code code;

	cluster->last.len = 0;
	if (!is_in_snapshot(cluster, on->slot)) {
		pl_map_del(&cluster->pods, at);
		return on->node.len > 0 && cluster->displaced != NULL
		               ? cluster->displaced(cluster->ctx, id, on->node, record,
		                                    err)
		               : PL_OK;
	}
	code = place_pod(cluster, on, record->value, &why);
	if (ends_reading(code)) {
		*err = why;
		return code;
	}
	if (code != PL_OK) /* the pod stays in the map: lost */
		return exclude_node(cluster, on->slot, STORE_FLAW_POD, &why, err);
	pl_map_del(&cluster->pods, at);
	memcpy(cluster->last_key, key.at, key.len);
	cluster->last = pl_span(cluster->last_key, key.len);
	report_progress(cluster, "pods on nodes", ++cluster->placed);
	return PL_OK;
}

/* Reads the state of the pod that was just placed: a terminating pod counts less. */
static void on_state(struct store_snapshot *cluster, const struct kv_record *record)
{
	struct pod_state state;

	if (cluster->last.len == 0 ||
	    !pl_span_eq(key_of(record->key, strlen("/state")), cluster->last))
		return;
	pl_arena_reset(&cluster->arena);
	if (state_parse(record->value, &cluster->arena, &state, NULL) == PL_OK &&
	    state.phase == STATE_TERMINATING)
		snapshot_pod_terminate(engine_snapshot(cluster->engine),
		                       cluster->last_placed);
}

static enum pl_code on_schedule(void *ctx, const struct kv_record *record,
                                struct pl_err *err)
{
	struct store_snapshot *cluster = ctx;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK)
		return PL_OK;
	if (id.kind == KEYS_SPEC && is_on_node(cluster, record->key))
		return on_spec(cluster, &id, record, err);
	cluster->last.len = id.kind == KEYS_SPEC ? 0 : cluster->last.len;
	if (id.kind == KEYS_STATE)
		on_state(cluster, record);
	if ((id.kind == KEYS_SPEC || id.kind == KEYS_STATE) && cluster->other != NULL)
		cluster->other(cluster->ctx, &id, record);
	return PL_OK;
}

static enum pl_code drop_nodes_with_lost_pods(struct store_snapshot *cluster,
                                              struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_MAP_EACH (at, &cluster->pods) {
		const struct expected_pod *on =
			PL_CONTAINER_OF(at, struct expected_pod, by_key);
		struct pl_err why = {0};

		if (code != PL_OK || !is_in_snapshot(cluster, on->slot))
			continue;
		pl_err_set(&why, PL_NOTFOUND, PL_SPAN_FMT, PL_SPAN_ARG(at->key));
		code = exclude_node(cluster, on->slot, STORE_FLAW_POD, &why, err);
	}
	return code;
}

/* -- all of it -------------------------------------------------------------------------
 */

static enum pl_code on_record(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct store_snapshot *cluster = ctx;

	switch (cluster->stage) {
	case STAGE_NODES:
		return on_node(cluster, record, err);
	case STAGE_ALLOCS:
		return on_alloc(cluster, record, err);
	case STAGE_SCHEDULES:
		return on_schedule(cluster, record, err);
	default:
		return on_object(cluster, record, err);
	}
}

/* A stage has been read. */
static enum pl_code end_stage(struct store_snapshot *cluster, struct pl_err *err)
{
	if (cluster->stage + 1 == STAGE_NODES && cluster->namespace.len > 0)
		return store_snapshot_see_namespace(cluster, cluster->namespace, err);
	if (cluster->stage == STAGE_ALLOCS)
		return drop_nodes_without_alloc(cluster, err);
	if (cluster->stage == STAGE_SCHEDULES)
		return drop_nodes_with_lost_pods(cluster, err);
	return PL_OK;
}

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	static const char *const prefixes[STAGES] = {
		CLUSTER_FOLLOWED_MAP(OBJECT_PREFIX) "/nodes/", "/alloc/", "/schedules/"};
	struct store_snapshot *cluster = ctx;
	enum pl_code code = PL_OK;

	if (cluster->stage == STAGES) /* nothing was read yet */
		cluster->stage = 0;
	else {
		code = end_stage(cluster, err);
		cluster->stage++;
	}
	if (code != PL_OK)
		return code;
	if (cluster->stage == STAGES)
		return PL_NOTFOUND;
	out->len = strlen(prefixes[cluster->stage]);
	memcpy(out->at, prefixes[cluster->stage], out->len);
	return PL_OK;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct store_snapshot *cluster = ctx;

	cluster->keys = NULL;
	cluster->compacted = revision != cluster->revision;
	cluster->revision = revision;
	cluster->done(cluster->ctx, err);
}

enum pl_code store_snapshot_start(struct store_snapshot *cluster,
                                  const struct service *service, struct pl_err *err)
{
	const struct key_list_opts opts = {.revision = cluster->revision,
	                                   .exact = cluster->exact,
	                                   .prefix = on_prefix,
	                                   .each = on_record,
	                                   .done = on_done,
	                                   .ctx = cluster};

	PL_ASSERT(cluster->revision > 0);
	cluster->stage = STAGES;
	pl_arena_init(&cluster->arena, ARENA_CHUNK, 0);
	pl_arena_init(&cluster->pods_arena, PODS_CHUNK, PODS_MAX);
	pl_map_init(&cluster->pods);
	return key_list_start(service, &opts, &cluster->keys, err);
}

void store_snapshot_cancel(struct store_snapshot *cluster)
{
	key_list_cancel(cluster->keys);
}

void store_snapshot_done(struct store_snapshot *cluster)
{
	PL_ASSERT(cluster->keys == NULL);
	if (cluster->engine == NULL)
		return;
	pl_map_done(&cluster->pods);
	pl_arena_done(&cluster->pods_arena);
	pl_arena_done(&cluster->arena);
	free(cluster->slot);
}
