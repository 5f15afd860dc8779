/*
 * An entry is drafted first, with its keys, and then taken over if all of it fits. What
 * its parts need on the wire is counted from above, tags and lengths included.
 */
#include "shardsched/records/txn_builder.h"

#include "shardsched/records/pod_location.h"
#include "shardsched/records/txn_builder_inner.h"
#include "store/kv/calls.h"

enum {
	OPS_DEFAULT = 128,
	BYTES_DEFAULT = 3 << 19,
	FENCE_COMPARES = 2, /* compares of one guarded partition */
	FIRST_CAP = 64,
	NESTED_OPS = 1,
	WRAP_BYTES = 128,   /* bytes of an empty request */
	COMPARE_BYTES = 28, /* bytes of a compare beside its key */
	OP_BYTES = 28,      /* bytes of an operation beside its keys and value */
};

struct builder_draft {
	struct txn_builder *builder;
	bool whole; /* nothing has failed so far */
	bool marks, by_first;
	/* shape: puts /groups/nodes; labels: the lock of labels */
	bool shape, labels;
	unsigned bumps;
	bool nests; /* an operation is a nested transaction */
	enum builder_kind kind;
	struct kv_compare compare[BUILDER_PARTS_MAX];
	struct kv_req then[BUILDER_PARTS_MAX], otherwise[BUILDER_PARTS_MAX];
	uint32_t compares, thens, otherwises;
	uint16_t fence[BUILDER_PARTS_MAX];
	uint32_t fences;
	size_t bytes;
};

void builder_begin(struct txn_builder *builder, struct pl_arena *arena,
                   struct kv_limits limits)
{
	if (limits.txn_ops == 0)
		limits.txn_ops = OPS_DEFAULT;
	if (limits.request_bytes == 0)
		limits.request_bytes = BYTES_DEFAULT;
	*builder = (struct txn_builder){
		.arena = arena, .limits = limits, .bytes = WRAP_BYTES};
}

void builder_req(const struct txn_builder *builder, struct kv_req *out)
{
	PL_ASSERT(builder->entries > 0);
	*out = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = builder->compare,
	                               .compare_count = builder->compares,
	                               .then = builder->then,
	                               .then_count = builder->thens,
	                               .otherwise = builder->otherwise,
	                               .otherwise_count = builder->otherwises}};
}

/* -- room -------------------------------------------------------------------------- */

static void *move_array(struct txn_builder *builder, const void *old, size_t bytes,
                        size_t used)
{
	void *at = pl_arena_alloc(builder->arena, bytes);

	if (at == NULL)
		builder->code = PL_NOMEM;
	else if (used > 0)
		memcpy(at, old, used);
	return at;
}

static bool grow_entries(struct txn_builder *builder)
{
	uint32_t cap = builder->entry_cap == 0 ? FIRST_CAP : builder->entry_cap * 2;
	struct builder_entry *entry =
		move_array(builder, builder->entry, cap * sizeof *entry,
	                   builder->entries * sizeof *entry);

	if (entry == NULL)
		return false;
	builder->entry = entry;
	builder->entry_cap = cap;
	return true;
}

static bool grow_parts(struct txn_builder *builder)
{
	uint32_t cap = builder->cap == 0 ? FIRST_CAP : builder->cap * 2;
	struct kv_compare *compare =
		move_array(builder, builder->compare, cap * sizeof *compare,
	                   builder->compares * sizeof *compare);
	struct kv_req *then, *otherwise;

	then = move_array(builder, builder->then, cap * sizeof *then,
	                  builder->thens * sizeof *then);
	otherwise = move_array(builder, builder->otherwise, cap * sizeof *otherwise,
	                       builder->otherwises * sizeof *otherwise);
	if (compare == NULL || then == NULL || otherwise == NULL)
		return false;
	builder->compare = compare;
	builder->then = then;
	builder->otherwise = otherwise;
	builder->cap = cap;
	return true;
}

static bool has_room(struct txn_builder *builder)
{
	bool room = builder->entries < builder->entry_cap || grow_entries(builder);

	/* Each entry has at most that many parts in each list. */
	while (room && (builder->compares + BUILDER_PARTS_MAX > builder->cap ||
	                builder->thens + BUILDER_PARTS_MAX > builder->cap ||
	                builder->otherwises + BUILDER_PARTS_MAX > builder->cap))
		room = grow_parts(builder);
	return room;
}

static bool has_fence(const struct txn_builder *builder, uint16_t partition)
{
	/* Writes of one partition mostly come one after another, so the search begins
	 * with the last. */
	for (uint32_t i = builder->fences; i-- > 0;)
		if (builder->fence[i] == partition)
			return true;
	return false;
}

static bool adds_fence(const struct builder_draft *draft, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (draft->fence[k] == draft->fence[i])
			return false;
	return !has_fence(draft->builder, draft->fence[i]);
}

/* Compares of fences beyond those for which the kv keeps room. */
static uint32_t fences_over(const struct builder_draft *draft)
{
	uint32_t fences = draft->builder->fences, beside = draft->builder->limits.fences;

	for (uint32_t i = 0; i < draft->fences; i++)
		fences += adds_fence(draft, i);
	if (fences > BUILDER_FENCES_MAX)
		return UINT32_MAX / 2;
	return beside > 0 && fences > beside ? FENCE_COMPARES * (fences - beside) : 0;
}

static void add_fences(const struct builder_draft *draft)
{
	struct txn_builder *builder = draft->builder;

	for (uint32_t i = 0; i < draft->fences; i++)
		if (!has_fence(builder, draft->fence[i]))
			builder->fence[builder->fences++] = draft->fence[i];
}

static bool draft_fits(const struct builder_draft *draft)
{
	const struct txn_builder *builder = draft->builder;
	uint32_t most = builder->limits.txn_ops, taken = fences_over(draft);

	/* A nested list may be only as long as the list around it leaves room for; the
	 * guard, which compares fences, nests this whole request. */
	taken += builder->nests || draft->nests ? NESTED_OPS : 0;
	if (taken > most)
		return false;
	most -= taken;
	return builder->compares + draft->compares <= most &&
	       builder->thens + draft->thens <= most &&
	       builder->otherwises + draft->otherwises <= most &&
	       builder->bytes + draft->bytes <= builder->limits.request_bytes;
}

/* -- drafts ------------------------------------------------------------------------ */

static struct builder_draft draft_of(struct txn_builder *builder, enum builder_kind kind)
{
	return (struct builder_draft){
		.builder = builder, .kind = kind, .whole = builder->code == PL_OK};
}

static bool commit_draft(struct builder_draft *draft)
{
	struct txn_builder *builder = draft->builder;

	if (!draft->whole)
		return false;
	if (!draft_fits(draft)) {
		if (builder->entries == 0)
			builder->code = PL_LIMIT;
		return false;
	}
	if (!has_room(builder))
		return false;
	builder->entry[builder->entries++] = (struct builder_entry){
		.compare = builder->compares,
		.then = builder->thens,
		.otherwise = builder->otherwises,
		.compares = (uint8_t)draft->compares,
		.thens = (uint8_t)draft->thens,
		.otherwises = (uint8_t)draft->otherwises,
		.kind = (uint8_t)draft->kind,
		.marks = draft->marks,
		.bumps = (uint8_t)draft->bumps,
		.by_first = draft->by_first,
	};
	memcpy(builder->compare + builder->compares, draft->compare,
	       draft->compares * sizeof draft->compare[0]);
	memcpy(builder->then + builder->thens, draft->then,
	       draft->thens * sizeof draft->then[0]);
	memcpy(builder->otherwise + builder->otherwises, draft->otherwise,
	       draft->otherwises * sizeof draft->otherwise[0]);
	builder->compares += draft->compares;
	builder->thens += draft->thens;
	builder->otherwises += draft->otherwises;
	builder->bytes += draft->bytes;
	add_fences(draft);
	builder->nests = builder->nests || draft->nests;
	builder->shape_bumped = builder->shape_bumped || draft->shape;
	builder->labels_bumped = builder->labels_bumped || draft->labels;
	return true;
}

static struct pl_span keep_text(struct builder_draft *draft, struct pl_span text)
{
	struct pl_span kept = {0};

	if (draft->whole)
		kept = pl_arena_dup(draft->builder->arena, text);
	if (kept.at == NULL) {
		draft->whole = false;
		if (draft->builder->code == PL_OK)
			draft->builder->code = PL_NOMEM;
	}
	return kept;
}

static struct pl_span key_of(struct builder_draft *draft, const struct keys_id *id)
{
	struct keys_text text;

	if (keys_build(id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return keep_text(draft, keys_span(&text));
}

static struct pl_span pod_key(struct builder_draft *draft, enum keys_kind kind,
                              const struct builder_pod *pod, uint32_t partition)
{
	struct keys_id id = {.kind = kind,
	                     .partition = partition,
	                     .scope = pod->namespace,
	                     .name = pod->name};

	return key_of(draft, &id);
}

/* The prefix of the keys of the pod's spec and state. */
static struct pl_span pod_prefix(struct builder_draft *draft,
                                 const struct builder_pod *pod)
{
	struct keys_id id = {.kind = KEYS_STATE,
	                     .partition = pod->partition,
	                     .scope = pod->namespace,
	                     .name = pod->name};
	struct keys_text text;

	if (keys_prefix(&id, 4, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return keep_text(draft, keys_span(&text));
}

static struct pl_span node_key(struct builder_draft *draft, enum keys_kind kind,
                               const struct builder_node *node)
{
	struct keys_id id = {.kind = kind,
	                     .partition = node->partition,
	                     .scope = node->cluster,
	                     .name = node->name};

	return key_of(draft, &id);
}

/* 0: the key does not exist. */
static void add_compare(struct builder_draft *draft, struct pl_span key,
                        int64_t mod_revision)
{
	PL_ASSERT(draft->compares < BUILDER_PARTS_MAX && mod_revision >= 0);
	draft->compare[draft->compares++] = kv_if_mod_rev(key, KV_EQ, mod_revision);
	draft->bytes += COMPARE_BYTES + key.len;
}

/* Compares that each key with the prefix has that revision, and that there is one. */
static void compare_all(struct builder_draft *draft, struct pl_span prefix,
                        int64_t mod_revision)
{
	PL_ASSERT(draft->compares < BUILDER_PARTS_MAX && mod_revision > 0);
	draft->compare[draft->compares++] = (struct kv_compare){.keys = kv_prefix(prefix),
	                                                        .target = KV_MOD_REV,
	                                                        .relation = KV_EQ,
	                                                        .number = mod_revision};
	draft->bytes += COMPARE_BYTES + 2 * prefix.len;
}

static void add_write(struct builder_draft *draft, struct kv_req op)
{
	PL_ASSERT(draft->thens < BUILDER_PARTS_MAX);
	draft->then[draft->thens++] = op;
	if (op.op == KV_PUT)
		draft->bytes += OP_BYTES + op.put.key.len + op.put.value.len;
	else if (op.op == KV_DELETE)
		draft->bytes += OP_BYTES + 2 * op.del.keys.from.len;
}

/* The entry writes keys that only the partition's owner may write. */
static void add_fence(struct builder_draft *draft, uint32_t partition)
{
	if (draft->builder->limits.fences > 0)
		draft->fence[draft->fences++] = (uint16_t)partition;
}

static void add_read(struct builder_draft *draft, struct kv_keys keys, bool keys_only)
{
	struct kv_req op = kv_op_get(keys);

	PL_ASSERT(draft->otherwises < BUILDER_PARTS_MAX);
	op.get.keys_only = keys_only;
	draft->otherwise[draft->otherwises++] = op;
	draft->bytes += OP_BYTES + 2 * keys.from.len;
}

/* -- pods -------------------------------------------------------------------------- */

bool builder_submit(struct txn_builder *builder, const struct builder_pod *pod,
                    uint32_t named, struct pl_span spec)
{
	struct builder_draft draft = draft_of(builder, BUILDER_POD);
	struct pl_span key = pod_key(&draft, KEYS_SPEC, pod, pod->partition);
	char pointer[POINTER_TEXT_SIZE];

	add_compare(&draft, key, 0);
	add_write(&draft, kv_op_put(key, spec));
	add_read(&draft, kv_prefix(pod_prefix(&draft, pod)), false);
	if (named == pod->partition)
		return commit_draft(&draft);
	key = pod_key(&draft, KEYS_SPEC, pod, named);
	add_compare(&draft, key, 0);
	add_write(&draft, kv_op_put(key, keep_text(&draft, pointer_text(pod->partition,
	                                                                pointer))));
	add_read(&draft, kv_key(key), false);
	return commit_draft(&draft);
}

/*
 * Compares that the pod is as it was seen. Without a state, the spec is the only key
 * below the pod's name, and one compare covers both: a newer state would have another
 * revision, and a deleted spec leaves no key. Every compare costs the store a look-up and
 * a read, and first decisions are most of its load.
 */
static void expect_pod(struct builder_draft *draft,
                       const struct builder_decision *decided, struct pl_span state)
{
	const struct builder_pod *pod = &decided->pod;
	struct pl_span prefix = pod_prefix(draft, pod);

	PL_ASSERT(decided->state_rev != 0 || decided->spec_rev != 0);
	if (decided->state_rev == 0 && !decided->has_other_keys) {
		compare_all(draft, prefix, decided->spec_rev);
	} else {
		add_compare(draft, state, decided->state_rev);
		if (decided->state_rev == 0)
			add_compare(draft, pod_key(draft, KEYS_SPEC, pod, pod->partition),
			            decided->spec_rev);
	}
	add_read(draft, kv_prefix(prefix), false);
}

bool builder_put_state(struct txn_builder *builder,
                       const struct builder_decision *decided)
{
	const struct builder_pod *pod = &decided->pod;
	struct builder_draft draft = draft_of(builder, BUILDER_POD);
	struct pl_span state = pod_key(&draft, KEYS_STATE, pod, pod->partition);

	draft.marks = true;
	add_fence(&draft, pod->partition);
	expect_pod(&draft, decided, state);
	add_write(&draft, kv_op_put(state, decided->state));
	return commit_draft(&draft);
}

/* Deletes the pointer, if it is the pod's: another pod may have got the name while the
 * pointer was lost, and then its spec stands there. */
static void then_unname(struct builder_draft *draft, const struct builder_pod *pod,
                        uint32_t named)
{
	struct pl_span key = pod_key(draft, KEYS_SPEC, pod, named);
	char text[POINTER_TEXT_SIZE];
	struct pl_span value = keep_text(draft, pointer_text(pod->partition, text));
	struct kv_compare *is = pl_arena_zalloc(draft->builder->arena, 1, sizeof *is);
	struct kv_req *goes = pl_arena_zalloc(draft->builder->arena, 1, sizeof *goes);

	if (is == NULL || goes == NULL) {
		draft->whole = false;
		draft->builder->code = PL_NOMEM;
		return;
	}
	*is = kv_if_value(key, KV_EQ, value);
	*goes = kv_op_delete(kv_key(key));
	add_write(draft, (struct kv_req){.op = KV_TXN,
	                                 .txn = {.compares = is,
	                                         .compare_count = 1,
	                                         .then = goes,
	                                         .then_count = 1}});
	draft->nests = true;
	draft->bytes += COMPARE_BYTES + 2 * OP_BYTES + 2 * key.len + value.len;
}

bool builder_delete_pod(struct txn_builder *builder,
                        const struct builder_decision *decided, uint32_t named)
{
	const struct builder_pod *pod = &decided->pod;
	struct builder_draft draft = draft_of(builder, BUILDER_POD);

	add_fence(&draft, pod->partition);
	add_fence(&draft, named);
	expect_pod(&draft, decided, pod_key(&draft, KEYS_STATE, pod, pod->partition));
	add_write(&draft, kv_op_delete(kv_prefix(pod_prefix(&draft, pod))));
	if (named != pod->partition)
		then_unname(&draft, pod, named);
	return commit_draft(&draft);
}

/* The spec's value is marked as the edit's own: another client that puts the same bytes
 * wants the same pod. */
bool builder_edit_pod(struct txn_builder *builder, const struct builder_edit *edit)
{
	const struct builder_pod *pod = &edit->pod;
	struct builder_draft draft = draft_of(builder, BUILDER_POD);
	struct pl_span spec = pod_key(&draft, KEYS_SPEC, pod, pod->partition);
	struct pl_span state = pod_key(&draft, KEYS_STATE, pod, pod->partition);

	PL_ASSERT(edit->spec_rev != 0);
	PL_ASSERT(edit->then == BUILDER_STATE_STAYS || edit->state_rev != 0);
	draft.marks = draft.by_first = true;
	add_fence(&draft, pod->partition);
	expect_pod(&draft,
	           &(struct builder_decision){.pod = *pod,
	                                      .spec_rev = edit->spec_rev,
	                                      .state_rev = edit->state_rev,
	                                      .has_other_keys = edit->has_other_keys},
	           state);
	if (edit->state_rev != 0)
		add_compare(&draft, spec, edit->spec_rev);
	add_write(&draft, kv_op_put(spec, edit->spec));
	if (edit->then == BUILDER_STATE_GOES)
		add_write(&draft, kv_op_delete(kv_key(state)));
	else if (edit->then == BUILDER_STATE_REPUTS)
		add_write(&draft, kv_op_put(state, edit->state));
	return commit_draft(&draft);
}

/* -- nodes ------------------------------------------------------------------------- */

bool builder_put_alloc(struct txn_builder *builder, const struct builder_node *node,
                       int64_t alloc_rev, struct pl_span alloc)
{
	struct builder_draft draft = draft_of(builder, BUILDER_NODE);
	struct pl_span key = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(alloc_rev != 0);
	draft.marks = true;
	add_fence(&draft, node->partition);
	add_compare(&draft, key, alloc_rev);
	add_write(&draft, kv_op_put(key, alloc));
	add_read(&draft, kv_key(node_key(&draft, KEYS_NODE, node)), true);
	add_read(&draft, kv_key(key), false);
	return commit_draft(&draft);
}

/* Compares both keys as seen, and reads them, the Node first. */
static void expect_node(struct builder_draft *draft, const int64_t revs[2],
                        struct pl_span json, struct pl_span alloc)
{
	add_compare(draft, json, revs[0]);
	add_compare(draft, alloc, revs[1]);
	add_read(draft, kv_key(json), false);
	add_read(draft, kv_key(alloc), false);
}

/* Decisions that depend on the set of nodes compare this key. It is the last write of its
 * entry. */
static void bump_shape(struct builder_draft *draft)
{
	const struct keys_id id = {.kind = KEYS_TOPOLOGY};

	if (draft->builder->shape_bumped)
		return;
	draft->bumps++;
	draft->shape = true;
	add_write(draft, kv_op_put(key_of(draft, &id), PL_SPAN_LIT("{\"v\":1}")));
}

/* Decisions that depend on labels of namespaces compare the lock of these; and the set of
 * nodes, so that they wait for all that was placed before. To be called after the other
 * writes of the entry. */
static void bump_labels(struct builder_draft *draft, struct pl_span key)
{
	const struct keys_id id = {.kind = KEYS_NAMESPACES};

	if (!pl_span_starts(key, PL_SPAN_LIT("/objects/core/namespaces/")))
		return;
	if (!draft->builder->labels_bumped) {
		draft->bumps++;
		draft->labels = true;
		add_write(draft, kv_op_put(key_of(draft, &id), PL_SPAN_LIT("{\"v\":1}")));
	}
	bump_shape(draft);
}

bool builder_put_node(struct txn_builder *builder, const struct builder_node *node,
                      int64_t node_rev, int64_t alloc_rev, struct pl_span json,
                      struct pl_span alloc)
{
	struct builder_draft draft = draft_of(builder, BUILDER_NODE);
	struct pl_span node_by_key = node_key(&draft, KEYS_NODE, node);
	struct pl_span alloc_at = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(node_rev == 0 || alloc_rev != 0);
	draft.marks = true;
	expect_node(&draft, (const int64_t[]){node_rev, alloc_rev}, node_by_key,
	            alloc_at);
	add_write(&draft, kv_op_put(node_by_key, json));
	add_write(&draft, kv_op_put(alloc_at, alloc));
	bump_shape(&draft);
	return commit_draft(&draft);
}

bool builder_delete_node(struct txn_builder *builder, const struct builder_node *node,
                         int64_t node_rev, int64_t alloc_rev)
{
	struct builder_draft draft = draft_of(builder, BUILDER_NODE);
	struct pl_span node_by_key = node_key(&draft, KEYS_NODE, node);
	struct pl_span alloc_at = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(alloc_rev != 0);
	expect_node(&draft, (const int64_t[]){node_rev, alloc_rev}, node_by_key,
	            alloc_at);
	if (node_rev != 0)
		add_write(&draft, kv_op_delete(kv_key(node_by_key)));
	add_write(&draft, kv_op_delete(kv_key(alloc_at)));
	bump_shape(&draft);
	return commit_draft(&draft);
}

/* -- other keys -------------------------------------------------------------------- */

bool builder_expect(struct txn_builder *builder, struct pl_span key, int64_t mod_revision)
{
	struct builder_draft draft = draft_of(builder, BUILDER_KEY);
	struct pl_span kept = keep_text(&draft, key);

	add_compare(&draft, kept, mod_revision);
	add_read(&draft, kv_key(kept), false);
	return commit_draft(&draft);
}

bool builder_put(struct txn_builder *builder, struct pl_span key, int64_t mod_revision,
                 struct pl_span value)
{
	return builder_put_leased(builder, key, mod_revision, value, 0);
}

bool builder_put_leased(struct txn_builder *builder, struct pl_span key,
                        int64_t mod_revision, struct pl_span value, int64_t lease)
{
	struct builder_draft draft = draft_of(builder, BUILDER_KEY);
	struct pl_span kept = keep_text(&draft, key);

	add_compare(&draft, kept, mod_revision);
	add_write(&draft, kv_op_put_leased(kept, value, lease));
	bump_labels(&draft, kept);
	add_read(&draft, kv_key(kept), false);
	return commit_draft(&draft);
}

bool builder_delete(struct txn_builder *builder, struct pl_span key, int64_t mod_revision)
{
	struct builder_draft draft = draft_of(builder, BUILDER_KEY);
	struct pl_span kept = keep_text(&draft, key);

	PL_ASSERT(mod_revision != 0);
	add_compare(&draft, kept, mod_revision);
	add_write(&draft, kv_op_delete(kv_key(kept)));
	bump_labels(&draft, kept);
	add_read(&draft, kv_key(kept), false);
	return commit_draft(&draft);
}

bool builder_bump(struct txn_builder *builder, struct pl_span key, struct pl_span value)
{
	struct builder_draft draft = draft_of(builder, BUILDER_BUMP);

	draft.bumps = 1;
	add_write(&draft, kv_op_put(keep_text(&draft, key), value));
	return commit_draft(&draft);
}
