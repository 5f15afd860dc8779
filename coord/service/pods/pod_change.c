#include "coord/service/pods/pod_change.h"

#include "coord/service/pods/pod_judge.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { CHUNK = 64 << 10, ROOM_MAX = 256 << 20 };

void pod_batch_init(struct pod_batch *batch, uint32_t partitions, const char *who)
{
	*batch = (struct pod_batch){.partitions = partitions, .who = who};
	model_init(&batch->model);
	rule_locks_init(&batch->locks, &batch->model, who);
	pl_arena_init(&batch->arena, CHUNK, ROOM_MAX);
	pl_arena_init(&batch->made, CHUNK, ROOM_MAX);
}

static void drop_pods(struct pod_batch *batch)
{
	for (uint32_t i = 0; i < batch->pods; i++)
		pod_drop(&batch->model, &batch->pod[i].is);
	batch->pods = batch->nodes = 0;
}

void pod_batch_done(struct pod_batch *batch)
{
	drop_pods(batch);
	rule_locks_done(&batch->locks);
	pl_arena_done(&batch->arena);
	pl_arena_done(&batch->made);
	model_done(&batch->model);
}

void pod_batch_begin(struct pod_batch *batch)
{
	drop_pods(batch);
	pl_arena_reset(&batch->arena);
	pl_arena_reset(&batch->made);
}

/* -- changes ----------------------------------------------------------------------- */

static struct batch_node *node_find(struct pod_batch *batch, struct pl_span cluster,
                                    struct pl_span name)
{
	for (uint32_t i = 0; i < batch->nodes; i++)
		if (pl_span_eq(batch->node[i].key.name, name) &&
		    pl_span_eq(batch->node[i].key.cluster, cluster))
			return &batch->node[i];
	return NULL;
}

/* PL_INVALID: no node has such a name. */
static enum pl_code node_get(struct pod_batch *batch, const struct pl_span at[2],
                             struct batch_node **out, struct pl_err *err)
{
	struct batch_node *node = node_find(batch, at[0], at[1]);
	struct builder_node key;
	enum pl_code code;

	if (node == NULL) {
		node = &batch->node[batch->nodes];
		code = partition_of_node(at[0], at[1], batch->partitions, &key.partition,
		                         err);
		if (code != PL_OK)
			return code;
		key.cluster = pl_arena_dup(&batch->arena, at[0]);
		key.name = pl_arena_dup(&batch->arena, at[1]);
		if (key.cluster.at == NULL || key.name.at == NULL)
			return pl_err_set(err, PL_NOMEM, "keep the name of a node");
		*node = (struct batch_node){.key = key};
		batch->nodes++;
	}
	*out = node;
	return PL_OK;
}

static bool has_pod(const struct pod_batch *batch, const struct builder_pod *pod)
{
	for (uint32_t i = 0; i < batch->pods; i++)
		if (pl_span_eq(batch->pod[i].change.pod.name, pod->name) &&
		    pl_span_eq(batch->pod[i].change.pod.namespace, pod->namespace))
			return true;
	return false;
}

/* Finds out what the change is, and which node it concerns. */
static enum pl_code settle_change(struct pod_batch *batch, struct batch_pod *pod,
                                  struct pl_err *err)
{
	struct batch_node *node = NULL;
	struct pl_span at[2];
	struct pl_err why = {0};
	enum pl_code code = pod_judge(batch, pod, at, err);

	pl_arena_reset(&batch->made);
	if (code != PL_OK || pod->done ||
	    (pod->kind != POD_BINDING && pod->kind != POD_EDIT_PLACED))
		return code;
	code = node_get(batch, at, &node, &why);
	if (code == PL_NOMEM) {
		*err = why;
		return code;
	}
	if (code != PL_OK)
		return pod_refuse(batch, pod, POD_REFUSAL_NODE, why.msg, err);
	PL_ASSERT(node != NULL);
	pod->node = (uint32_t)(node - batch->node);
	node->binds |= pod->kind == POD_BINDING;
	return PL_OK;
}

enum pl_code pod_batch_add(struct pod_batch *batch, const struct pod_change *change,
                           uint32_t *out, struct pl_err *err)
{
	struct batch_pod *pod = &batch->pod[batch->pods];
	enum pl_code code;

	PL_ASSERT(change->spec.rev != 0);
	if (batch->pods == POD_BATCH_MAX || has_pod(batch, &change->pod))
		return pl_err_set(err, PL_BUSY, "the transaction has no room for a pod");
	*pod = (struct batch_pod){.change = *change, .node = POD_BATCH_NO_NODE};
	code = settle_change(batch, pod, err);
	if (code != PL_OK) {
		pod_drop(&batch->model, &pod->is);
		return code;
	}
	*out = batch->pods++;
	return PL_OK;
}

/* -- reading ----------------------------------------------------------------------- */

static enum pl_code keep_value(struct pod_batch *batch, const struct kv_record *record,
                               struct pod_value *out)
{
	*out = (struct pod_value){0};
	if (record == NULL)
		return PL_OK;
	out->value = pl_arena_dup(&batch->arena, record->value);
	out->rev = record->mod_revision;
	return out->value.at == NULL ? PL_NOMEM : PL_OK;
}

void pod_batch_know_node(struct pod_batch *batch, struct pl_span cluster,
                         struct pl_span name, const struct pod_value *alloc,
                         const struct pod_value *node)
{
	struct batch_node *to = node_find(batch, cluster, name);

	if (to == NULL)
		return;
	if (alloc != NULL) {
		to->alloc = *alloc;
		to->has_alloc = true;
	}
	to->node = *node;
	to->has_node = to->known = true;
}

enum pl_code pod_batch_know_rules(struct pod_batch *batch, struct pl_span namespace,
                                  const struct pod_value *registry, struct pl_err *err)
{
	return rule_locks_read(&batch->locks, namespace, registry->rev, registry->value,
	                       err);
}

static struct pl_span key_of(struct pl_arena *arena, const struct keys_id *id)
{
	struct keys_text text;

	if (keys_build(id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return pl_arena_dup(arena, keys_span(&text));
}

struct pl_span pod_batch_node_key(struct pl_arena *arena, enum keys_kind kind,
                                  const struct batch_node *node)
{
	const struct keys_id id = {.kind = kind,
	                           .partition = node->key.partition,
	                           .scope = node->key.cluster,
	                           .name = node->key.name};

	return key_of(arena, &id);
}

struct batch_reads {
	struct pl_arena *arena;
	struct kv_req *op;
	uint32_t count, most;
	bool failed;
};

static void add_read(struct batch_reads *reads, struct pl_span key)
{
	reads->failed = reads->failed || key.at == NULL;
	if (!reads->failed)
		reads->op[reads->count++] = kv_op_get(kv_key(key));
}

static bool has_read(const struct batch_reads *reads, struct pl_span key)
{
	for (uint32_t i = 0; i < reads->count; i++)
		if (pl_span_eq(reads->op[i].get.keys.from, key))
			return true;
	return false;
}

static void read_registry(struct pod_batch *batch, struct batch_reads *reads,
                          struct pl_span namespace)
{
	const struct keys_id id = {.kind = namespace.len == 0 ? KEYS_REGISTRY_GLOBAL
	                                                      : KEYS_REGISTRY,
	                           .scope = namespace};
	struct pl_span key;

	if (reads->count == reads->most || rule_locks_knows(&batch->locks, namespace))
		return;
	key = key_of(reads->arena, &id);
	if (key.at == NULL || !has_read(reads, key))
		add_read(reads, key);
}

static void read_node(struct batch_reads *reads, const struct batch_node *node)
{
	if (!node->has_alloc)
		add_read(reads, pod_batch_node_key(reads->arena, KEYS_ALLOC, node));
	if (!node->has_node)
		add_read(reads, pod_batch_node_key(reads->arena, KEYS_NODE, node));
}

enum pl_code pod_batch_reads(struct pod_batch *batch, uint32_t most,
                             struct pl_arena *arena, struct kv_req **op, uint32_t *count)
{
	const uint32_t room = 4 * POD_BATCH_MAX + 1;
	struct batch_reads reads = {.arena = arena,
	                            .op = pl_arena_zalloc(arena, room, sizeof **op),
	                            .most = most < room ? most : room,
	                            .failed = false};

	PL_ASSERT(most >= 2);
	if (reads.op == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < batch->nodes && reads.count + 2 <= reads.most; i++)
		read_node(&reads, &batch->node[i]);
	for (uint32_t i = 0; i < batch->pods; i++)
		if (!batch->pod[i].done && batch->pod[i].relabels) {
			read_registry(batch, &reads, PL_SPAN_LIT(""));
			read_registry(batch, &reads, batch->pod[i].change.pod.namespace);
		}
	*op = reads.op;
	*count = reads.count;
	return reads.failed ? PL_NOMEM : PL_OK;
}

static enum pl_code take_one(struct pod_batch *batch, struct pl_span key,
                             const struct kv_record *record, struct pl_err *err)
{
	struct keys_id id;
	struct batch_node *node;
	enum pl_code code = keys_parse(key, &id, err);

	if (code != PL_OK)
		return code;
	if (id.kind == KEYS_REGISTRY || id.kind == KEYS_REGISTRY_GLOBAL)
		return rule_locks_read(
			&batch->locks,
			id.kind == KEYS_REGISTRY ? id.scope : PL_SPAN_LIT(""),
			record == NULL ? 0 : record->mod_revision,
			record == NULL ? PL_SPAN_LIT("") : record->value, err);
	node = node_find(batch, id.scope, id.name);
	PL_ASSERT(node != NULL);
	if (id.kind == KEYS_ALLOC) {
		code = keep_value(batch, record, &node->alloc);
		node->has_alloc = true;
	} else {
		code = keep_value(batch, record, &node->node);
		node->has_node = true;
		node->known = false;
	}
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "keep a node");
}

enum pl_code pod_batch_take(struct pod_batch *batch, const struct kv_req *op,
                            const struct kv_result *result, uint32_t count,
                            struct pl_err *err)
{
	const struct kv_txn_result *txn = &result->txn;
	enum pl_code code = PL_OK;

	if (result->op != KV_TXN || !txn->succeeded || txn->count != count)
		return pl_err_set(err, PL_PROTO, "not the answer to these reads");
	for (uint32_t i = 0; code == PL_OK && i < count; i++) {
		const struct kv_get_result *get = &txn->results[i].get;

		code = take_one(batch, op[i].get.keys.from,
		                get->count == 0 ? NULL : get->records, err);
	}
	return code;
}
