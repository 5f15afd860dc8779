/*
 * An entry is drafted first, with its keys, and then taken over if all of it fits. What
 * its parts need on the wire is counted from above, tags and lengths included.
 */
#include "shardsched/ledger/book.h"

#include "shardsched/ledger/book_int.h"
#include "shardsched/ledger/home.h"
#include "store/kv/calls.h"

enum {
	OPS_DEFAULT = 128,
	BYTES_DEFAULT = 3 << 19,
	FENCE_COMPARES = 2, /* of a partition that is guarded */
	FIRST_CAP = 64,
	NESTED_OPS = 1,
	WRAP_BYTES = 128,   /* of a request, before anything is in it */
	COMPARE_BYTES = 28, /* besides the key */
	OP_BYTES = 28,      /* besides keys and value */
};

struct draft {
	struct book *book;
	bool whole; /* nothing has failed yet */
	bool marks, bumps;
	bool nests; /* an operation of it is a transaction */
	enum book_kind kind;
	struct kv_compare compare[BOOK_PARTS_MAX];
	struct kv_req then[BOOK_PARTS_MAX], otherwise[BOOK_PARTS_MAX];
	uint32_t compares, thens, otherwises;
	uint16_t fence[BOOK_PARTS_MAX];
	uint32_t fences;
	size_t bytes;
};

void book_begin(struct book *book, struct pl_arena *arena, struct kv_limits limits)
{
	if (limits.txn_ops == 0)
		limits.txn_ops = OPS_DEFAULT;
	if (limits.request_bytes == 0)
		limits.request_bytes = BYTES_DEFAULT;
	*book = (struct book){.arena = arena, .limits = limits, .bytes = WRAP_BYTES};
}

void book_req(const struct book *book, struct kv_req *out)
{
	PL_ASSERT(book->entries > 0);
	*out = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = book->compare,
	                               .compare_count = book->compares,
	                               .then = book->then,
	                               .then_count = book->thens,
	                               .otherwise = book->otherwise,
	                               .otherwise_count = book->otherwises}};
}

/* -- room -------------------------------------------------------------------------- */

static void *moved(struct book *book, const void *old, size_t bytes, size_t used)
{
	void *at = pl_arena_alloc(book->arena, bytes);

	if (at == NULL)
		book->code = PL_NOMEM;
	else if (used > 0)
		memcpy(at, old, used);
	return at;
}

static bool grow_entries(struct book *book)
{
	uint32_t cap = book->entry_cap == 0 ? FIRST_CAP : book->entry_cap * 2;
	struct book_entry *entry = moved(book, book->entry, cap * sizeof *entry,
	                                 book->entries * sizeof *entry);

	if (entry == NULL)
		return false;
	book->entry = entry;
	book->entry_cap = cap;
	return true;
}

static bool grow_parts(struct book *book)
{
	uint32_t cap = book->cap == 0 ? FIRST_CAP : book->cap * 2;
	struct kv_compare *compare = moved(book, book->compare, cap * sizeof *compare,
	                                   book->compares * sizeof *compare);
	struct kv_req *then, *otherwise;

	then = moved(book, book->then, cap * sizeof *then, book->thens * sizeof *then);
	otherwise = moved(book, book->otherwise, cap * sizeof *otherwise,
	                  book->otherwises * sizeof *otherwise);
	if (compare == NULL || then == NULL || otherwise == NULL)
		return false;
	book->compare = compare;
	book->then = then;
	book->otherwise = otherwise;
	book->cap = cap;
	return true;
}

static bool has_room(struct book *book)
{
	bool room = book->entries < book->entry_cap || grow_entries(book);

	/* Every entry brings at most so many of each. */
	while (room && (book->compares + BOOK_PARTS_MAX > book->cap ||
	                book->thens + BOOK_PARTS_MAX > book->cap ||
	                book->otherwises + BOOK_PARTS_MAX > book->cap))
		room = grow_parts(book);
	return room;
}

static bool has_fence(const struct book *book, uint16_t partition)
{
	/* Writes of one partition stand together: the last is the likeliest. */
	for (uint32_t i = book->fences; i-- > 0;)
		if (book->fence[i] == partition)
			return true;
	return false;
}

static bool adds_fence(const struct draft *draft, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (draft->fence[k] == draft->fence[i])
			return false;
	return !has_fence(draft->book, draft->fence[i]);
}

/* Compares for partitions beyond those for which there is room beside. */
static uint32_t fences_over(const struct draft *draft)
{
	uint32_t fences = draft->book->fences, beside = draft->book->limits.fences;

	for (uint32_t i = 0; i < draft->fences; i++)
		fences += adds_fence(draft, i);
	if (fences > BOOK_FENCES_MAX)
		return UINT32_MAX / 2;
	return beside > 0 && fences > beside ? FENCE_COMPARES * (fences - beside) : 0;
}

static void take_fences(const struct draft *draft)
{
	struct book *book = draft->book;

	for (uint32_t i = 0; i < draft->fences; i++)
		if (!has_fence(book, draft->fence[i]))
			book->fence[book->fences++] = draft->fence[i];
}

static bool fits(const struct draft *draft)
{
	const struct book *book = draft->book;
	uint32_t most = book->limits.txn_ops, taken = fences_over(draft);

	/* What is nested may have only so many, in each list, as what it is in leaves: so
	 * does the guard, that compares fences, of all that is here. */
	taken += book->nests || draft->nests ? NESTED_OPS : 0;
	if (taken > most)
		return false;
	most -= taken;
	return book->compares + draft->compares <= most &&
	       book->thens + draft->thens <= most &&
	       book->otherwises + draft->otherwises <= most &&
	       book->bytes + draft->bytes <= book->limits.request_bytes;
}

/* -- drafts ------------------------------------------------------------------------ */

static struct draft draft_of(struct book *book, enum book_kind kind)
{
	return (struct draft){.book = book, .kind = kind, .whole = book->code == PL_OK};
}

static bool take(struct draft *draft)
{
	struct book *book = draft->book;

	if (!draft->whole)
		return false;
	if (!fits(draft)) {
		if (book->entries == 0)
			book->code = PL_LIMIT;
		return false;
	}
	if (!has_room(book))
		return false;
	book->entry[book->entries++] = (struct book_entry){
		.compare = book->compares,
		.then = book->thens,
		.otherwise = book->otherwises,
		.compares = (uint8_t)draft->compares,
		.thens = (uint8_t)draft->thens,
		.otherwises = (uint8_t)draft->otherwises,
		.kind = (uint8_t)draft->kind,
		.marks = draft->marks,
		.bumps = draft->bumps,
	};
	memcpy(book->compare + book->compares, draft->compare,
	       draft->compares * sizeof draft->compare[0]);
	memcpy(book->then + book->thens, draft->then,
	       draft->thens * sizeof draft->then[0]);
	memcpy(book->otherwise + book->otherwises, draft->otherwise,
	       draft->otherwises * sizeof draft->otherwise[0]);
	book->compares += draft->compares;
	book->thens += draft->thens;
	book->otherwises += draft->otherwises;
	book->bytes += draft->bytes;
	take_fences(draft);
	book->nests = book->nests || draft->nests;
	book->shape_bumped =
		book->shape_bumped || (draft->kind == BOOK_NODE && draft->bumps);
	return true;
}

static struct pl_span keep(struct draft *draft, struct pl_span text)
{
	struct pl_span kept = {0};

	if (draft->whole)
		kept = pl_arena_dup(draft->book->arena, text);
	if (kept.at == NULL) {
		draft->whole = false;
		if (draft->book->code == PL_OK)
			draft->book->code = PL_NOMEM;
	}
	return kept;
}

static struct pl_span key_of(struct draft *draft, const struct keys_id *id)
{
	struct keys_text text;

	if (keys_build(id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return keep(draft, keys_span(&text));
}

static struct pl_span pod_key(struct draft *draft, enum keys_kind kind,
                              const struct book_pod *pod, uint32_t partition)
{
	struct keys_id id = {.kind = kind,
	                     .partition = partition,
	                     .scope = pod->space,
	                     .name = pod->name};

	return key_of(draft, &id);
}

/* What begins the keys of the pod's spec and state. */
static struct pl_span pod_prefix(struct draft *draft, const struct book_pod *pod)
{
	struct keys_id id = {.kind = KEYS_STATE,
	                     .partition = pod->partition,
	                     .scope = pod->space,
	                     .name = pod->name};
	struct keys_text text;

	if (keys_prefix(&id, 4, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return keep(draft, keys_span(&text));
}

static struct pl_span node_key(struct draft *draft, enum keys_kind kind,
                               const struct book_node *node)
{
	struct keys_id id = {.kind = kind,
	                     .partition = node->partition,
	                     .scope = node->cluster,
	                     .name = node->name};

	return key_of(draft, &id);
}

/* 0: it does not exist. */
static void compare(struct draft *draft, struct pl_span key, int64_t mod_revision)
{
	PL_ASSERT(draft->compares < BOOK_PARTS_MAX && mod_revision >= 0);
	draft->compare[draft->compares++] = kv_if_mod_rev(key, KV_EQ, mod_revision);
	draft->bytes += COMPARE_BYTES + key.len;
}

/* Each key with that prefix is of that revision, and there is one. */
static void compare_all(struct draft *draft, struct pl_span prefix, int64_t mod_revision)
{
	PL_ASSERT(draft->compares < BOOK_PARTS_MAX && mod_revision > 0);
	draft->compare[draft->compares++] = (struct kv_compare){.keys = kv_prefix(prefix),
	                                                        .target = KV_MOD_REV,
	                                                        .relation = KV_EQ,
	                                                        .number = mod_revision};
	draft->bytes += COMPARE_BYTES + 2 * prefix.len;
}

static void then(struct draft *draft, struct kv_req op)
{
	PL_ASSERT(draft->thens < BOOK_PARTS_MAX);
	draft->then[draft->thens++] = op;
	if (op.op == KV_PUT)
		draft->bytes += OP_BYTES + op.put.key.len + op.put.value.len;
	else if (op.op == KV_DELETE)
		draft->bytes += OP_BYTES + 2 * op.del.keys.from.len;
}

/* It writes what only the partition's owner may write. */
static void fenced(struct draft *draft, uint32_t partition)
{
	if (draft->book->limits.fences > 0)
		draft->fence[draft->fences++] = (uint16_t)partition;
}

static void look(struct draft *draft, struct kv_keys keys, bool keys_only)
{
	struct kv_req op = kv_op_get(keys);

	PL_ASSERT(draft->otherwises < BOOK_PARTS_MAX);
	op.get.keys_only = keys_only;
	draft->otherwise[draft->otherwises++] = op;
	draft->bytes += OP_BYTES + 2 * keys.from.len;
}

/* -- pods -------------------------------------------------------------------------- */

bool book_submit(struct book *book, const struct book_pod *pod, uint32_t named,
                 struct pl_span spec)
{
	struct draft draft = draft_of(book, BOOK_POD);
	struct pl_span key = pod_key(&draft, KEYS_SPEC, pod, pod->partition);
	char pointer[POINTER_TEXT_SIZE];

	compare(&draft, key, 0);
	then(&draft, kv_op_put(key, spec));
	look(&draft, kv_prefix(pod_prefix(&draft, pod)), false);
	if (named == pod->partition)
		return take(&draft);
	key = pod_key(&draft, KEYS_SPEC, pod, named);
	compare(&draft, key, 0);
	then(&draft, kv_op_put(key, keep(&draft, pointer_text(pod->partition, pointer))));
	look(&draft, kv_key(key), false);
	return take(&draft);
}

/*
 * The pod is as it was when it was looked at. Without a state, its spec is the only key
 * below its name, and one compare says both: a state that came since is of another
 * revision, and nothing at all is of none. Every compare costs the store a look-up and a
 * read, and first decisions are most of what it does.
 */
static void expect_pod(struct draft *draft, const struct book_decided *decided,
                       struct pl_span state)
{
	const struct book_pod *pod = &decided->pod;
	struct pl_span prefix = pod_prefix(draft, pod);

	PL_ASSERT(decided->state_rev != 0 || decided->spec_rev != 0);
	if (decided->state_rev == 0 && !decided->crowded) {
		compare_all(draft, prefix, decided->spec_rev);
	} else {
		compare(draft, state, decided->state_rev);
		if (decided->state_rev == 0)
			compare(draft, pod_key(draft, KEYS_SPEC, pod, pod->partition),
			        decided->spec_rev);
	}
	look(draft, kv_prefix(prefix), false);
}

bool book_put_state(struct book *book, const struct book_decided *decided)
{
	const struct book_pod *pod = &decided->pod;
	struct draft draft = draft_of(book, BOOK_POD);
	struct pl_span state = pod_key(&draft, KEYS_STATE, pod, pod->partition);

	draft.marks = true;
	fenced(&draft, pod->partition);
	expect_pod(&draft, decided, state);
	then(&draft, kv_op_put(state, decided->state));
	return take(&draft);
}

/* The pointer, if it is the pod's: once it was lost another pod may have come by that
 * name, and its spec stands there. */
static void then_unname(struct draft *draft, const struct book_pod *pod, uint32_t named)
{
	struct pl_span key = pod_key(draft, KEYS_SPEC, pod, named);
	char text[POINTER_TEXT_SIZE];
	struct pl_span value = keep(draft, pointer_text(pod->partition, text));
	struct kv_compare *is = pl_arena_zalloc(draft->book->arena, 1, sizeof *is);
	struct kv_req *goes = pl_arena_zalloc(draft->book->arena, 1, sizeof *goes);

	if (is == NULL || goes == NULL) {
		draft->whole = false;
		draft->book->code = PL_NOMEM;
		return;
	}
	*is = kv_if_value(key, KV_EQ, value);
	*goes = kv_op_delete(kv_key(key));
	then(draft, (struct kv_req){.op = KV_TXN,
	                            .txn = {.compares = is,
	                                    .compare_count = 1,
	                                    .then = goes,
	                                    .then_count = 1}});
	draft->nests = true;
	draft->bytes += COMPARE_BYTES + 2 * OP_BYTES + 2 * key.len + value.len;
}

bool book_delete_pod(struct book *book, const struct book_decided *decided,
                     uint32_t named)
{
	const struct book_pod *pod = &decided->pod;
	struct draft draft = draft_of(book, BOOK_POD);

	fenced(&draft, pod->partition);
	fenced(&draft, named);
	expect_pod(&draft, decided, pod_key(&draft, KEYS_STATE, pod, pod->partition));
	then(&draft, kv_op_delete(kv_prefix(pod_prefix(&draft, pod))));
	if (named != pod->partition)
		then_unname(&draft, pod, named);
	return take(&draft);
}

/* -- nodes ------------------------------------------------------------------------- */

bool book_put_alloc(struct book *book, const struct book_node *node, int64_t alloc_rev,
                    struct pl_span alloc)
{
	struct draft draft = draft_of(book, BOOK_NODE);
	struct pl_span key = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(alloc_rev != 0);
	draft.marks = true;
	fenced(&draft, node->partition);
	compare(&draft, key, alloc_rev);
	then(&draft, kv_op_put(key, alloc));
	look(&draft, kv_key(node_key(&draft, KEYS_NODE, node)), true);
	look(&draft, kv_key(key), false);
	return take(&draft);
}

/* Both keys as seen; they are read, the Node first. */
static void expect_node(struct draft *draft, const int64_t revs[2], struct pl_span json,
                        struct pl_span alloc)
{
	compare(draft, json, revs[0]);
	compare(draft, alloc, revs[1]);
	look(draft, kv_key(json), false);
	look(draft, kv_key(alloc), false);
}

/* Decisions about what nodes there are compare it. The last write of its entry. */
static void bump_shape(struct draft *draft)
{
	const struct keys_id id = {.kind = KEYS_SHAPE};

	if (draft->book->shape_bumped)
		return;
	draft->bumps = true;
	then(draft, kv_op_put(key_of(draft, &id), PL_SPAN_LIT("{\"v\":1}")));
}

bool book_put_node(struct book *book, const struct book_node *node, int64_t node_rev,
                   int64_t alloc_rev, struct pl_span json, struct pl_span alloc)
{
	struct draft draft = draft_of(book, BOOK_NODE);
	struct pl_span node_at = node_key(&draft, KEYS_NODE, node);
	struct pl_span alloc_at = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(node_rev == 0 || alloc_rev != 0);
	draft.marks = true;
	expect_node(&draft, (const int64_t[]){node_rev, alloc_rev}, node_at, alloc_at);
	then(&draft, kv_op_put(node_at, json));
	then(&draft, kv_op_put(alloc_at, alloc));
	bump_shape(&draft);
	return take(&draft);
}

bool book_delete_node(struct book *book, const struct book_node *node, int64_t node_rev,
                      int64_t alloc_rev)
{
	struct draft draft = draft_of(book, BOOK_NODE);
	struct pl_span node_at = node_key(&draft, KEYS_NODE, node);
	struct pl_span alloc_at = node_key(&draft, KEYS_ALLOC, node);

	PL_ASSERT(alloc_rev != 0);
	expect_node(&draft, (const int64_t[]){node_rev, alloc_rev}, node_at, alloc_at);
	if (node_rev != 0)
		then(&draft, kv_op_delete(kv_key(node_at)));
	then(&draft, kv_op_delete(kv_key(alloc_at)));
	bump_shape(&draft);
	return take(&draft);
}

/* -- other keys -------------------------------------------------------------------- */

bool book_expect(struct book *book, struct pl_span key, int64_t mod_revision)
{
	struct draft draft = draft_of(book, BOOK_KEY);
	struct pl_span kept = keep(&draft, key);

	compare(&draft, kept, mod_revision);
	look(&draft, kv_key(kept), false);
	return take(&draft);
}

bool book_put(struct book *book, struct pl_span key, int64_t mod_revision,
              struct pl_span value)
{
	struct draft draft = draft_of(book, BOOK_KEY);
	struct pl_span kept = keep(&draft, key);

	compare(&draft, kept, mod_revision);
	then(&draft, kv_op_put(kept, value));
	look(&draft, kv_key(kept), false);
	return take(&draft);
}

bool book_delete(struct book *book, struct pl_span key, int64_t mod_revision)
{
	struct draft draft = draft_of(book, BOOK_KEY);
	struct pl_span kept = keep(&draft, key);

	PL_ASSERT(mod_revision != 0);
	compare(&draft, kept, mod_revision);
	then(&draft, kv_op_delete(kv_key(kept)));
	look(&draft, kv_key(kept), false);
	return take(&draft);
}

bool book_bump(struct book *book, struct pl_span key, struct pl_span value)
{
	struct draft draft = draft_of(book, BOOK_BUMP);

	draft.bumps = true;
	then(&draft, kv_op_put(keep(&draft, key), value));
	return take(&draft);
}
