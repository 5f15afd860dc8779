/*
 * A slot does some pods after the others:
 *
 *	LOOK --pointer--> LOOK where it leads --spec--> DELETE or SAY --> told
 *	  |                                              |   ^
 *	  +--nothing--> told                             +---+ newer: LOOK again
 *
 * First all of them are looked at that have to be, in one transaction, with the budgets
 * of their namespaces, then all are written, in another. A pod that went and came back
 *while we looked is looked at again from the start.
 */
#include "coord/submit/wish.h"

#include <stdlib.h>

#include "coord/submit/leaving.h"
#include "coord/submit/wards.h"
#include "coord/writes/writes.h"
#include "shardsched/ledger/book.h"
#include "shardsched/ledger/home.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { SLOTS_DEFAULT = 8, TRIES_MAX = 32, CHUNK = 64 << 10, ROOM_MAX = 64 << 20 };

enum stage { STAGE_LOOK, STAGE_DELETE, STAGE_SAY, STAGE_TOLD };

struct entry {
	enum stage stage;
	bool asked;   /* it is in the transaction that is under way */
	bool crowded; /* something else stands below its name */
	struct wish wish;
	uint32_t named, at; /* partitions: of its name, where we look */
	int64_t spec_rev, state_rev;
	struct pl_span state; /* the new one */
	unsigned tries;
	/* It runs, and nobody has asked it to go before: budgets are asked. */
	bool disturbs;
	const struct labels *labels; /* held */
};

struct slot {
	struct entry entry[WISH_BATCH_MAX];
	unsigned count, left;
	bool looking;
	struct pl_arena arena; /* of its pods */
	struct book book;
	struct wards wards;
};

struct wishes {
	struct kv *kv;
	struct wish_opts opts;
	struct writes *writes;
	struct wish carried;
	bool has_carried, exhausted;
	struct pl_err failed;
	struct pl_buf buf;
	struct model model; /* labels, budgets */
	unsigned slots;
	struct slot slot[];
};

static void entry_unlabel(struct wishes *wishes, struct entry *entry)
{
	model_unref(&wishes->model, MODEL_LABELS, entry->labels);
	entry->labels = NULL;
	entry->disturbs = false;
}

static void slot_forget(struct wishes *wishes, struct slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		entry_unlabel(wishes, &slot->entry[i]);
	slot->count = slot->left = 0;
}

static void wishes_free(struct wishes *wishes)
{
	for (unsigned i = 0; i < wishes->slots; i++) {
		slot_forget(wishes, &wishes->slot[i]);
		wards_done(&wishes->slot[i].wards);
		pl_arena_done(&wishes->slot[i].arena);
	}
	pl_buf_done(&wishes->buf);
	model_done(&wishes->model);
	free(wishes);
}

static void fail(struct wishes *wishes, const struct pl_err *err)
{
	if (wishes->failed.code != PL_OK)
		return;
	wishes->failed = *err;
	writes_cancel(wishes->writes, err);
}

static void fail_with(struct wishes *wishes, enum pl_code code)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "speak of pods: %s", pl_code_name(code));
	fail(wishes, &err);
}

static void tell(struct wishes *wishes, struct slot *slot, struct entry *entry,
                 enum wish_outcome outcome, const char *why)
{
	entry->stage = STAGE_TOLD;
	entry->wish.at = entry->at;
	slot->left--;
	wishes->opts.told(wishes->opts.ctx, &entry->wish, outcome, why);
}

/* -- which pods ------------------------------------------------------------------------
 */

static bool look_ahead(struct wishes *wishes)
{
	struct pl_err err = {0};
	enum pl_code code;

	if (wishes->has_carried)
		return true;
	if (wishes->exhausted || wishes->failed.code != PL_OK)
		return false;
	code = wishes->opts.next(wishes->opts.ctx, &wishes->carried, &err);
	wishes->has_carried = code == PL_OK;
	wishes->exhausted = code != PL_OK;
	if (code != PL_OK && code != PL_NOTFOUND)
		fail(wishes, &err);
	return code == PL_OK;
}

/* A key may be in a transaction once. */
static bool has_it(const struct slot *slot, const struct wish *wish)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (pl_span_eq(slot->entry[i].wish.name, wish->name) &&
		    pl_span_eq(slot->entry[i].wish.space, wish->space))
			return true;
	return false;
}

static enum pl_code take(struct wishes *wishes, struct slot *slot, struct pl_err *err)
{
	struct entry *entry = &slot->entry[slot->count];
	struct wish wish = wishes->carried;
	enum pl_code code;

	*entry = (struct entry){.stage = STAGE_LOOK};
	wish.space = pl_arena_dup(&slot->arena, wish.space);
	wish.name = pl_arena_dup(&slot->arena, wish.name);
	if (wish.space.at == NULL || wish.name.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a pod's name");
	entry->wish = wish;
	code = partition_of_pod(wish.space, wish.name, wishes->opts.partitions,
	                        &entry->named, err);
	entry->at = wish.at == WISH_BY_NAME ? entry->named : wish.at;
	if (code != PL_OK)
		return code;
	slot->count++;
	slot->left++;
	wishes->has_carried = false;
	if (wish.verb == WISH_EVICT && !wards_space(&slot->wards, wish.space))
		PL_UNREACHABLE("a namespace for which there was room");
	return PL_OK;
}

/* For the budgets of its namespace, beside those of the others. */
static bool has_room(struct slot *slot, const struct wish *wish)
{
	bool known = wish->verb != WISH_EVICT || slot->wards.spaces < WARDS_SPACES_MAX;

	for (uint32_t i = 0; i < slot->wards.spaces; i++)
		known = known || pl_span_eq(slot->wards.space[i], wish->space);
	return known;
}

static void refill(struct wishes *wishes, struct slot *slot)
{
	struct pl_err err = {0};

	slot_forget(wishes, slot);
	wards_clear(&slot->wards);
	pl_arena_reset(&slot->arena);
	while (slot->count < WISH_BATCH_MAX && look_ahead(wishes) &&
	       !has_it(slot, &wishes->carried) && has_room(slot, &wishes->carried))
		if (take(wishes, slot, &err) != PL_OK) {
			fail(wishes, &err);
			return;
		}
}

/* -- requests --------------------------------------------------------------------------
 */

static bool look_op(const struct entry *entry, struct pl_arena *arena, struct kv_req *op)
{
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = entry->at,
	                     .scope = entry->wish.space,
	                     .name = entry->wish.name};
	struct pl_span kept = {0};
	struct keys_text prefix;

	if (keys_prefix(&id, 4, &prefix, NULL) == PL_OK)
		kept = pl_arena_dup(arena, keys_span(&prefix));
	*op = kv_op_get(kv_prefix(kept));
	return kept.at != NULL;
}

/* Those that have to be looked at; none: *count is 0. */
static bool looks(struct wishes *wishes, struct slot *slot, struct pl_arena *arena,
                  struct kv_req *req, unsigned *count)
{
	struct kv_req *op =
		pl_arena_zalloc(arena, WISH_BATCH_MAX + WARDS_OPS_MAX, sizeof *op);
	uint32_t wards = wards_op_count(&slot->wards);
	uint64_t most = kv_limits(wishes->kv).txn_ops;

	most = most > wards + 1 ? most - wards : most;
	*count = 0;
	for (unsigned i = 0; op != NULL && i < slot->count; i++) {
		struct entry *entry = &slot->entry[i];

		entry->asked = entry->stage == STAGE_LOOK && (most == 0 || *count < most);
		if (!entry->asked)
			continue;
		if (!look_op(entry, arena, &op[*count]))
			return false;
		++*count;
	}
	if (op == NULL || wards_ops(&slot->wards, arena, op + *count) != PL_OK)
		return false;
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.then = op, .then_count = *count + wards}};
	return true;
}

static bool add(struct slot *slot, const struct entry *entry)
{
	struct book_decided decided = {
		.pod = {.partition = entry->at,
	                .space = entry->wish.space,
	                .name = entry->wish.name},
		.spec_rev = entry->spec_rev,
		.state_rev = entry->state_rev,
		.state = entry->state,
		.crowded = entry->crowded,
	};

	return entry->stage == STAGE_SAY
	               ? book_put_state(&slot->book, &decided)
	               : book_delete_pod(&slot->book, &decided, entry->named);
}

/* Whom a budget protects now is told, and not asked. */
static void withhold(struct wishes *wishes, struct slot *slot)
{
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	wards_release(&slot->wards);
	for (unsigned i = 0; i < slot->count && code == PL_OK; i++) {
		struct entry *entry = &slot->entry[i];
		const struct ward *ward;

		if (entry->stage != STAGE_SAY || !entry->disturbs)
			continue;
		ward = wards_against(&slot->wards, entry->wish.space, entry->labels,
		                     wishes->opts.past_budgets);
		if (ward == NULL) {
			code = wards_take(&slot->wards, entry->wish.space, entry->labels,
			                  entry->wish.name, entry->state_rev, &err);
			continue;
		}
		tell(wishes, slot, entry, WISH_WITHHELD,
		     pl_arena_printf(&slot->arena, PL_SPAN_FMT "/" PL_SPAN_FMT,
		                     PL_SPAN_ARG(ward->space), PL_SPAN_ARG(ward->name)));
	}
	if (code != PL_OK)
		fail(wishes, &err);
}

/* At most so many, and what their budgets say then. */
static bool write_some(struct wishes *wishes, struct slot *slot, struct pl_arena *arena,
                       unsigned most)
{
	struct pl_err err = {0};
	bool room = true;
	unsigned asked = 0;

	book_begin(&slot->book, arena, kv_limits(wishes->kv));
	wards_release(&slot->wards);
	for (unsigned i = 0; i < slot->count; i++) {
		struct entry *entry = &slot->entry[i];

		entry->asked = false;
		if (entry->stage == STAGE_TOLD || !room || asked == most)
			continue;
		room = add(slot, entry);
		entry->asked = room;
		asked += room;
		if (room && entry->stage == STAGE_SAY && entry->disturbs &&
		    wards_take(&slot->wards, entry->wish.space, entry->labels,
		               entry->wish.name, entry->state_rev, &err) != PL_OK)
			return false;
	}
	return wards_book(&slot->wards, &slot->book);
}

static bool writes_all(struct wishes *wishes, struct slot *slot, struct pl_arena *arena,
                       struct kv_req *req)
{
	unsigned most = slot->left;

	while (!write_some(wishes, slot, arena, most)) {
		if (slot->book.code != PL_OK || most == 1)
			return false;
		most /= 2;
	}
	if (slot->book.code != PL_OK)
		return false;
	book_req(&slot->book, req);
	return true;
}

static bool make(struct wishes *wishes, struct slot *slot, struct pl_arena *arena,
                 struct kv_req *req)
{
	unsigned count = 0;
	bool made = looks(wishes, slot, arena, req, &count);

	slot->looking = count > 0;
	return made && count == 0 ? writes_all(wishes, slot, arena, req) : made;
}

static bool has_looks(const struct slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->entry[i].stage == STAGE_LOOK)
			return true;
	return false;
}

static bool on_next(void *ctx, unsigned number, struct pl_arena *arena,
                    struct kv_req *req)
{
	struct wishes *wishes = ctx;
	struct slot *slot = &wishes->slot[number];
	bool made;

	do {
		if (slot->left == 0)
			refill(wishes, slot);
		if (wishes->failed.code == PL_OK && !has_looks(slot))
			withhold(wishes, slot);
		if (wishes->failed.code != PL_OK)
			return false;
	} while (slot->left == 0 && slot->count > 0);
	if (slot->left == 0)
		return false;
	made = make(wishes, slot, arena, req);
	if (!made)
		fail_with(wishes, slot->book.code == PL_LIMIT ? PL_LIMIT : PL_NOMEM);
	return made;
}

/* -- what is to be done ----------------------------------------------------------------
 */

static const char *const done_by[] = {
	[WISH_DELETE] = "deleted", [WISH_EVICT] = "evicted", [WISH_ENDED] = ""};

/* What is said already; false: there is something to be said. */
static bool is_said(const struct wish *wish, const struct pod_state *state)
{
	bool waits = wish->ended == STATE_ENDED_NOT || state->ended != STATE_ENDED_NOT;

	switch (wish->verb) {
	case WISH_DELETE:
		return waits && state_is_leaving(state);
	case WISH_EVICT:
		return waits && (state->ask != STATE_ASK_NONE ||
		                 state->phase == STATE_TERMINATING);
	case WISH_ENDED:
		return state->ended != STATE_ENDED_NOT;
	}
	PL_UNREACHABLE("verb");
}

static enum pl_code say_it(struct wishes *wishes, struct slot *slot, struct entry *entry,
                           struct pod_state *state, struct pl_err *err)
{
	const struct wish *wish = &entry->wish;
	enum pl_code code;

	if (wish->verb == WISH_DELETE) {
		state->ask = STATE_ASK_DELETE;
	} else if (wish->verb == WISH_EVICT && state->phase == STATE_BOUND &&
	           state->ask == STATE_ASK_NONE) {
		state->ask = STATE_ASK_EVICT;
		entry->disturbs =
			entry->labels != NULL && state->ended == STATE_ENDED_NOT;
	}
	if (wish->ended != STATE_ENDED_NOT && state->ended == STATE_ENDED_NOT)
		state->ended = wish->ended;
	if (wish->verb != WISH_ENDED) {
		const char *message =
			pl_arena_printf(&slot->arena, "%s by %.120s", done_by[wish->verb],
		                        wishes->opts.who);

		if (message == NULL)
			return pl_err_set(err, PL_NOMEM, "ask a pod to go");
		state->reason = wish->reason.len > 0 ? wish->reason
		                                     : pl_span_str(done_by[wish->verb]);
		state->message = pl_span_str(message);
	}
	pl_buf_clear(&wishes->buf, SIZE_MAX);
	code = state_print(state, &wishes->buf, err);
	if (code != PL_OK)
		return code;
	entry->state = pl_arena_dup(&slot->arena, pl_buf_span(&wishes->buf));
	entry->stage = STAGE_SAY;
	return entry->state.at == NULL ? pl_err_set(err, PL_NOMEM, "keep a state")
	                               : PL_OK;
}

static bool is_elsewhere(const struct wish *wish, const struct pod_state *state)
{
	return wish->node.len > 0 && (!pl_span_eq(wish->node, state->node) ||
	                              !pl_span_eq(wish->cluster, state->cluster));
}

static void judge_state(struct wishes *wishes, struct slot *slot, struct entry *entry,
                        const struct kv_record *record)
{
	struct pl_err err = {0};
	struct pod_state state;
	enum pl_code code = state_parse(record->value, &slot->arena, &state, &err);
	bool placed = code == PL_OK && state_has_place(&state);

	if (code == PL_OK && !placed && entry->wish.verb == WISH_DELETE)
		return;
	if (code == PL_OK && (!placed || is_elsewhere(&entry->wish, &state))) {
		tell(wishes, slot, entry, WISH_PASSED, NULL);
		return;
	}
	if (code == PL_OK && is_said(&entry->wish, &state)) {
		tell(wishes, slot, entry, WISH_ALREADY, NULL);
		return;
	}
	if (code == PL_OK)
		code = say_it(wishes, slot, entry, &state, &err);
	if (code == PL_NOMEM)
		fail(wishes, &err);
	else if (code != PL_OK)
		tell(wishes, slot, entry, WISH_GARBLED, err.msg);
}

/* It is as this. A state that makes no sense may hold a place: it is left to those who
 * can tell (fsck). */
static void judge(struct wishes *wishes, struct slot *slot, struct entry *entry,
                  const struct kv_record *spec, const struct kv_record *record)
{
	entry->spec_rev = spec == NULL ? 0 : spec->mod_revision;
	entry->state_rev = record == NULL ? 0 : record->mod_revision;
	entry->stage = STAGE_DELETE;
	if (record != NULL)
		judge_state(wishes, slot, entry, record);
	else if (entry->wish.verb != WISH_DELETE)
		tell(wishes, slot, entry, WISH_PASSED, NULL);
}

static const struct kv_record *find(const struct kv_get_result *get, enum keys_kind kind)
{
	for (size_t i = 0; i < get->count; i++) {
		struct keys_id id;

		if (keys_parse(get->records[i].key, &id, NULL) == PL_OK &&
		    id.kind == kind)
			return &get->records[i];
	}
	return NULL;
}

static bool is_crowded(const struct kv_get_result *get)
{
	struct keys_id id;

	for (size_t i = 0; i < get->count; i++)
		if (keys_parse(get->records[i].key, &id, NULL) != PL_OK)
			return true;
	return false;
}

/* Of an eviction: what budgets go by. A pod that makes no sense is covered by none, nor
 * is one whose spec somebody has overwritten with another's. */
static void label(struct wishes *wishes, struct slot *slot, struct entry *entry,
                  const struct kv_record *spec)
{
	struct pl_err err = {0};
	struct reader reader;
	struct maker maker;
	struct pl_json root, meta;
	struct draft_pairs pairs;
	bool own;

	entry_unlabel(wishes, entry);
	if (entry->wish.verb != WISH_EVICT || spec == NULL)
		return;
	root = reader_init(&reader, &slot->arena, spec->value, &err);
	meta = reader_object(&reader, root, "metadata");
	pairs = reader_pairs(&reader, meta, "labels");
	own = pl_span_eq(reader_text(&reader, meta, "name"), entry->wish.name) &&
	      pl_span_eq(reader_text(&reader, meta, "namespace"), entry->wish.space);
	maker_init(&maker, &wishes->model, &slot->arena);
	if (reader.code == PL_OK && own)
		entry->labels = labels_make(&maker, pairs);
	if (reader.code == PL_NOMEM || maker.code != PL_OK)
		fail_with(wishes, PL_NOMEM);
}

static void looked(struct wishes *wishes, struct slot *slot, struct entry *entry,
                   const struct kv_get_result *get)
{
	const struct kv_record *spec = find(get, KEYS_SPEC);
	const struct kv_record *state = find(get, KEYS_STATE);
	struct pl_err err = {0};
	bool is_pointer = false;
	uint32_t at = entry->at;

	entry->crowded = is_crowded(get);
	if (spec != NULL && pointer_parse(spec->value, &is_pointer, &at, &err) != PL_OK) {
		tell(wishes, slot, entry, WISH_GARBLED, err.msg);
		return;
	}
	if (is_pointer && entry->at == entry->named && at != entry->at &&
	    at < wishes->opts.partitions)
		entry->at = at; /* and look again */
	else if (is_pointer)
		tell(wishes, slot, entry, WISH_GARBLED, "its pointer leads nowhere");
	else if (spec == NULL && state == NULL && entry->at == entry->named)
		tell(wishes, slot, entry, WISH_ABSENT, NULL);
	else if (spec == NULL && state == NULL)
		entry->at = entry->named; /* it went meanwhile */
	else {
		label(wishes, slot, entry, spec);
		judge(wishes, slot, entry, spec, state);
	}
}

/* -- answers ---------------------------------------------------------------------------
 */

static void written(struct wishes *wishes, struct slot *slot, struct entry *entry,
                    const struct book_found *found)
{
	bool deleting = entry->stage == STAGE_DELETE;

	if (found->verdict == BOOK_OURS || (deleting && found->verdict == BOOK_GONE)) {
		tell(wishes, slot, entry, deleting ? WISH_GONE : WISH_SAID, NULL);
	} else if (found->verdict != BOOK_SAME) {
		entry->at = entry->named;
		entry->stage = STAGE_LOOK;
	}
}

static void again(struct wishes *wishes, struct slot *slot, struct entry *entry)
{
	if (entry->stage != STAGE_TOLD && ++entry->tries > TRIES_MAX)
		tell(wishes, slot, entry, WISH_GARBLED, "it changes again and again");
}

/* As they stood with the pods, or before them if not all could be read at once. */
static void look_at_budgets(struct wishes *wishes, struct slot *slot,
                            const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;
	size_t from = txn->count - wards_op_count(&slot->wards);
	struct pl_err err = {0};

	wards_forget(&slot->wards);
	for (size_t i = from; i < txn->count; i++)
		if (wards_read(&slot->wards, &txn->results[i].get, &err) != PL_OK)
			fail(wishes, &err);
}

/* Pods and budgets that were not written are looked at again, together. */
static void look_again(struct slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (slot->entry[i].stage == STAGE_SAY && slot->entry[i].disturbs)
			slot->entry[i].stage = STAGE_LOOK;
}

static void on_answer(void *ctx, unsigned number, const struct kv_result *result,
                      bool resent)
{
	struct wishes *wishes = ctx;
	struct slot *slot = &wishes->slot[number];
	unsigned at = 0;

	(void)resent;
	for (unsigned i = 0; i < slot->count; i++) {
		struct entry *entry = &slot->entry[i];
		struct book_found found;

		if (!entry->asked)
			continue;
		entry->asked = false;
		if (slot->looking)
			looked(wishes, slot, entry, &result->txn.results[at].get);
		else if (book_answer(&slot->book, result, at, &found))
			written(wishes, slot, entry, &found);
		else
			fail_with(wishes, PL_PROTO);
		again(wishes, slot, entry);
		at++;
	}
	if (slot->looking)
		look_at_budgets(wishes, slot, result);
	else if (!result->txn.succeeded || slot->left > 0)
		look_again(slot);
}

/* -- life ------------------------------------------------------------------------------
 */

static void on_done(void *ctx, const struct pl_err *err)
{
	struct wishes *wishes = ctx;
	struct wish_opts opts = wishes->opts;

	wishes_free(wishes);
	opts.done(opts.ctx, err);
}

enum pl_code wishes_open(struct kv *kv, const struct wish_opts *opts, struct wishes **out,
                         struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct writes_opts writes = {.slots = slots,
	                             .timeout_ms = opts->timeout_ms,
	                             .patience_ms = opts->patience_ms,
	                             .next = on_next,
	                             .answer = on_answer,
	                             .done = on_done};
	struct wishes *wishes =
		pl_calloc(1, sizeof *wishes + slots * sizeof wishes->slot[0]);
	enum pl_code code;

	if (wishes == NULL)
		return pl_err_set(err, PL_NOMEM, "speak of pods");
	wishes->kv = kv;
	wishes->opts = *opts;
	wishes->slots = slots;
	pl_buf_init(&wishes->buf, STATE_BYTES_MAX);
	model_init(&wishes->model);
	for (unsigned i = 0; i < slots; i++) {
		pl_arena_init(&wishes->slot[i].arena, CHUNK, ROOM_MAX);
		wards_init(&wishes->slot[i].wards, &wishes->model);
	}
	writes.ctx = wishes;
	code = writes_open(kv, &writes, &wishes->writes, err);
	if (code == PL_OK)
		*out = wishes;
	else
		wishes_free(wishes);
	return code;
}

void wishes_cancel(struct wishes *wishes)
{
	writes_cancel(wishes->writes, NULL);
}
