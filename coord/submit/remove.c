/*
 * A slot does one pod after the other:
 *
 *	LOOK --pointer--> LOOK where it leads --spec--> DELETE or MARK --> told
 *	  |                                              |   ^
 *	  +--nothing--> told                             +---+ newer: judged again
 *
 * A pod that went and came back while we looked is looked at again from the start.
 */
#include "coord/submit/remove.h"

#include <stdlib.h>

#include "coord/writes/writes.h"
#include "shardsched/ledger/book.h"
#include "shardsched/ledger/home.h"
#include "shardsched/ledger/state.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { SLOTS_DEFAULT = 32, TRIES_MAX = 32, NAME_MAX_BYTES = 256, ARENA_MAX = 4 << 20 };

enum stage { STAGE_IDLE, STAGE_LOOK, STAGE_DELETE, STAGE_MARK };

struct slot {
	enum stage stage;
	struct remove_pod pod;
	uint8_t space[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	uint32_t named, at; /* partitions: of its name, where we look */
	int64_t spec_rev, state_rev;
	struct pl_arena arena; /* of the new state */
	struct pl_buf state;
	struct book book;
	unsigned tries;
};

struct removal {
	struct kv *kv;
	struct remove_opts opts;
	struct writes *writes;
	bool exhausted;
	struct pl_err failed;
	unsigned slots;
	struct slot slot[];
};

static void remove_free(struct removal *removal)
{
	for (unsigned i = 0; i < removal->slots; i++) {
		pl_buf_done(&removal->slot[i].state);
		pl_arena_done(&removal->slot[i].arena);
	}
	free(removal);
}

static void fail(struct removal *removal, const struct pl_err *err)
{
	if (removal->failed.code != PL_OK)
		return;
	removal->failed = *err;
	writes_cancel(removal->writes, err);
}

static void fail_with(struct removal *removal, enum pl_code code)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "delete a pod: %s", pl_code_name(code));
	fail(removal, &err);
}

static void tell(struct removal *removal, struct slot *slot, enum remove_what what,
                 const char *why)
{
	slot->stage = STAGE_IDLE;
	removal->opts.told(removal->opts.ctx, &slot->pod, what, why);
}

/* -- requests --------------------------------------------------------------------------
 */

static bool take(struct removal *removal, struct slot *slot)
{
	struct pl_err err = {0};
	struct remove_pod pod;
	enum pl_code code;

	if (removal->exhausted || removal->failed.code != PL_OK)
		return false;
	code = removal->opts.next(removal->opts.ctx, &pod, &err);
	if (code == PL_OK)
		code = partition_of_pod(pod.space, pod.name, removal->opts.partitions,
		                        &slot->named, &err);
	removal->exhausted = code != PL_OK;
	if (code != PL_OK && code != PL_NOTFOUND)
		fail(removal, &err);
	if (code != PL_OK)
		return false;
	PL_ASSERT(pod.space.len <= NAME_MAX_BYTES && pod.name.len <= NAME_MAX_BYTES);
	memcpy(slot->space, pod.space.at, pod.space.len);
	memcpy(slot->name, pod.name.at, pod.name.len);
	slot->pod = (struct remove_pod){pl_span(slot->space, pod.space.len),
	                                pl_span(slot->name, pod.name.len)};
	slot->stage = STAGE_LOOK;
	slot->at = slot->named;
	slot->tries = 0;
	return true;
}

static bool look_req(struct slot *slot, struct pl_arena *arena, struct kv_req *req)
{
	struct keys_id id = {.kind = KEYS_SPEC,
	                     .partition = slot->at,
	                     .scope = slot->pod.space,
	                     .name = slot->pod.name};
	struct pl_span kept = {0};
	struct keys_text prefix;

	if (keys_prefix(&id, 4, &prefix, NULL) == PL_OK)
		kept = pl_arena_dup(arena, keys_span(&prefix));
	*req = kv_op_get(kv_prefix(kept));
	return kept.at != NULL;
}

static bool write_req(struct removal *removal, struct slot *slot, struct pl_arena *arena,
                      struct kv_req *req)
{
	struct book_decided decided = {
		.pod = {.partition = slot->at,
	                .space = slot->pod.space,
	                .name = slot->pod.name},
		.spec_rev = slot->spec_rev,
		.state_rev = slot->state_rev,
		.state = pl_buf_span(&slot->state),
	};
	bool added;

	book_begin(&slot->book, arena, kv_limits(removal->kv));
	added = slot->stage == STAGE_MARK
	                ? book_put_state(&slot->book, &decided)
	                : book_delete_pod(&slot->book, &decided, slot->named);
	if (added)
		book_req(&slot->book, req);
	return added;
}

static bool on_next(void *ctx, unsigned number, struct pl_arena *arena,
                    struct kv_req *req)
{
	struct removal *removal = ctx;
	struct slot *slot = &removal->slot[number];
	bool made;

	if (removal->failed.code != PL_OK ||
	    (slot->stage == STAGE_IDLE && !take(removal, slot)))
		return false;
	made = slot->stage == STAGE_LOOK ? look_req(slot, arena, req)
	                                 : write_req(removal, slot, arena, req);
	if (!made)
		fail_with(removal, PL_NOMEM);
	return made;
}

/* -- what is to be done ----------------------------------------------------------------
 */

static enum pl_code mark(struct removal *removal, struct slot *slot,
                         struct pod_state *state, struct pl_err *err)
{
	const char *message =
		pl_arena_printf(&slot->arena, "deleted by %.120s", removal->opts.who);

	if (message == NULL)
		return pl_err_set(err, PL_NOMEM, "delete a pod");
	state->phase = STATE_TERMINATING;
	state->reason = PL_SPAN_LIT("deleted");
	state->message = pl_span_str(message);
	state->since_ms = removal->opts.wall_ms(removal->opts.ctx);
	pl_buf_clear(&slot->state, SIZE_MAX);
	return state_print(state, &slot->state, err);
}

/* It is as this. A state that makes no sense may hold a place: it is left to those who
 * can tell (fsck). */
static void judge(struct removal *removal, struct slot *slot,
                  const struct kv_record *spec, const struct kv_record *record)
{
	struct pl_err err = {0};
	struct pod_state state;
	enum pl_code code;

	slot->spec_rev = spec == NULL ? 0 : spec->mod_revision;
	slot->state_rev = record == NULL ? 0 : record->mod_revision;
	slot->stage = STAGE_DELETE;
	if (record == NULL)
		return;
	pl_arena_reset(&slot->arena);
	code = state_parse(record->value, &slot->arena, &state, &err);
	if (code == PL_OK && state.phase == STATE_TERMINATING) {
		tell(removal, slot, REMOVE_ALREADY, NULL);
		return;
	}
	if (code == PL_OK && state_has_place(&state)) {
		slot->stage = STAGE_MARK;
		code = mark(removal, slot, &state, &err);
	}
	if (code == PL_NOMEM)
		fail(removal, &err);
	else if (code != PL_OK)
		tell(removal, slot, REMOVE_GARBLED, err.msg);
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

static void looked(struct removal *removal, struct slot *slot,
                   const struct kv_get_result *get)
{
	const struct kv_record *spec = find(get, KEYS_SPEC);
	const struct kv_record *state = find(get, KEYS_STATE);
	struct pl_err err = {0};
	bool is_pointer = false;
	uint32_t at = slot->at;

	if (spec != NULL && pointer_parse(spec->value, &is_pointer, &at, &err) != PL_OK) {
		tell(removal, slot, REMOVE_GARBLED, err.msg);
		return;
	}
	if (is_pointer && slot->at == slot->named && at != slot->at &&
	    at < removal->opts.partitions)
		slot->at = at; /* and look again */
	else if (is_pointer)
		tell(removal, slot, REMOVE_GARBLED, "its pointer leads nowhere");
	else if (spec == NULL && state == NULL && slot->at == slot->named)
		tell(removal, slot, REMOVE_ABSENT, NULL);
	else if (spec == NULL && state == NULL)
		slot->at = slot->named; /* it went meanwhile */
	else
		judge(removal, slot, spec, state);
}

static void written(struct removal *removal, struct slot *slot,
                    const struct kv_result *result)
{
	bool deleting = slot->stage == STAGE_DELETE;
	struct book_found found;

	if (!book_answer(&slot->book, result, 0, &found)) {
		fail_with(removal, PL_PROTO);
		return;
	}
	if (found.verdict == BOOK_OURS || (deleting && found.verdict == BOOK_GONE)) {
		tell(removal, slot, deleting ? REMOVE_GONE : REMOVE_TERMINATING, NULL);
		return;
	}
	slot->at = slot->named;
	slot->stage = STAGE_LOOK;
}

static void on_answer(void *ctx, unsigned number, const struct kv_result *result,
                      bool again)
{
	struct removal *removal = ctx;
	struct slot *slot = &removal->slot[number];

	(void)again;
	if (slot->stage == STAGE_LOOK)
		looked(removal, slot, &result->get);
	else
		written(removal, slot, result);
	if (slot->stage != STAGE_IDLE && ++slot->tries > TRIES_MAX)
		tell(removal, slot, REMOVE_GARBLED, "it changes again and again");
}

/* -- life ------------------------------------------------------------------------------
 */

static void on_done(void *ctx, const struct pl_err *err)
{
	struct removal *removal = ctx;
	struct remove_opts opts = removal->opts;

	remove_free(removal);
	opts.done(opts.ctx, err);
}

enum pl_code remove_open(struct kv *kv, const struct remove_opts *opts,
                         struct removal **out, struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct writes_opts writes = {.slots = slots,
	                             .timeout_ms = opts->timeout_ms,
	                             .patience_ms = opts->patience_ms,
	                             .next = on_next,
	                             .answer = on_answer,
	                             .done = on_done};
	struct removal *removal =
		pl_calloc(1, sizeof *removal + slots * sizeof removal->slot[0]);
	enum pl_code code;

	if (removal == NULL)
		return pl_err_set(err, PL_NOMEM, "delete");
	removal->kv = kv;
	removal->opts = *opts;
	removal->slots = slots;
	for (unsigned i = 0; i < slots; i++) {
		pl_arena_init(&removal->slot[i].arena, 0, ARENA_MAX);
		pl_buf_init(&removal->slot[i].state, STATE_BYTES_MAX);
	}
	writes.ctx = removal;
	code = writes_open(kv, &writes, &removal->writes, err);
	if (code == PL_OK)
		*out = removal;
	else
		remove_free(removal);
	return code;
}

void remove_cancel(struct removal *removal)
{
	writes_cancel(removal->writes, NULL);
}
