#include "coord/submit/wards.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { CHUNK = 64 << 10, ROOM_MAX = 256 << 20 };

void wards_init(struct wards *wards, struct model *model)
{
	*wards = (struct wards){.model = model};
	pl_arena_init(&wards->arena, CHUNK, ROOM_MAX);
}

void wards_forget(struct wards *wards)
{
	for (uint32_t i = 0; i < wards->count; i++)
		budget_drop(wards->model, &wards->ward[i].object);
	wards->count = 0;
	wards->lock_rev = 0;
	pl_arena_reset(&wards->arena);
}

void wards_done(struct wards *wards)
{
	wards_forget(wards);
	free(wards->ward);
	pl_arena_done(&wards->arena);
}

void wards_clear(struct wards *wards)
{
	wards_forget(wards);
	wards->spaces = 0;
}

/* -- reading ------------------------------------------------------------------------ */

static uint32_t find_space(const struct wards *wards, struct pl_span space)
{
	uint32_t i = 0;

	while (i < wards->spaces && !pl_span_eq(wards->space[i], space))
		i++;
	return i;
}

bool wards_space(struct wards *wards, struct pl_span space)
{
	uint32_t i = find_space(wards, space);

	if (i == WARDS_SPACES_MAX)
		return false;
	if (i == wards->spaces)
		wards->space[wards->spaces++] = space;
	return true;
}

static struct pl_span prefix_of(const struct wards *wards, uint32_t space,
                                struct pl_arena *arena)
{
	const struct keys_id id = {.kind = KEYS_BUDGET, .scope = wards->space[space]};
	struct keys_text text;

	if (keys_prefix(&id, 2, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	return pl_arena_dup(arena, keys_span(&text));
}

static struct pl_span lock_key(struct pl_arena *arena)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct keys_text text;

	if (keys_build(&id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	return pl_arena_dup(arena, keys_span(&text));
}

uint32_t wards_op_count(const struct wards *wards)
{
	return wards->spaces == 0 ? 0 : wards->spaces + 1;
}

enum pl_code wards_ops(struct wards *wards, struct pl_arena *arena, struct kv_req *op)
{
	struct pl_span lock;

	if (wards->spaces == 0)
		return PL_OK;
	lock = lock_key(arena);
	if (lock.at == NULL)
		return PL_NOMEM;
	op[wards->spaces] = kv_op_get(kv_key(lock));
	for (uint32_t i = 0; i < wards->spaces; i++) {
		struct pl_span prefix = prefix_of(wards, i, arena);

		if (prefix.at == NULL)
			return PL_NOMEM;
		op[i] = kv_op_get(kv_prefix(prefix));
	}
	return PL_OK;
}

static bool grow(struct wards *wards)
{
	uint32_t cap = wards->cap == 0 ? 16 : wards->cap * 2;
	struct ward *grown;

	if (wards->count < wards->cap)
		return true;
	grown = pl_realloc(wards->ward, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	wards->ward = grown;
	wards->cap = cap;
	return true;
}

static enum pl_code read_one(struct wards *wards, const struct kv_record *record,
                             struct ward *out, struct pl_err *err)
{
	struct parse parse = {.model = wards->model, .arena = &wards->arena};
	struct pl_span key = pl_arena_dup(&wards->arena, record->key);
	struct keys_id id;
	enum pl_code code;

	*out = (struct ward){.rev = record->mod_revision};
	if (key.at == NULL)
		return pl_err_set(err, PL_NOMEM, "read a budget");
	code = keys_parse(key, &id, err);
	if (code == PL_OK)
		code = keys_build(&id, &out->key, err);
	if (code == PL_OK)
		code = budget_record_parse(record->value, &wards->arena, &out->found,
		                           err);
	if (code == PL_OK)
		code = budget_record_object(&out->found, &parse, id.scope, id.name,
		                            &out->object, err);
	out->space = id.scope;
	out->name = id.name;
	return code;
}

static bool is_lock(const struct kv_record *record)
{
	struct keys_id id;

	return keys_parse(record->key, &id, NULL) == PL_OK &&
	       id.kind == KEYS_BUDGETS_LOCK;
}

enum pl_code wards_read(struct wards *wards, const struct kv_get_result *found,
                        struct pl_err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		struct pl_err why = {0};

		if (is_lock(&found->records[i])) {
			wards->lock_rev = found->records[i].mod_revision;
			continue;
		}
		if (!grow(wards))
			return pl_err_set(err, PL_NOMEM, "read the budgets");
		if (read_one(wards, &found->records[i], &wards->ward[wards->count],
		             &why) == PL_OK)
			wards->count++;
		else if (why.code == PL_NOMEM)
			return pl_err_set(err, PL_NOMEM, "read the budgets");
	}
	return PL_OK;
}

/* -- taking ------------------------------------------------------------------------- */

void wards_release(struct wards *wards)
{
	for (uint32_t i = 0; i < wards->count; i++) {
		wards->ward[i].taken = wards->ward[i].found;
		wards->ward[i].touched = false;
	}
	wards->used = false;
}

static bool covers(const struct wards *wards, const struct ward *ward,
                   struct pl_span space, const struct labels *labels)
{
	return pl_span_eq(ward->space, space) &&
	       budget_covers(&wards->model->strings, &ward->object, labels);
}

/* Who goes is noted until he is counted: that can not be done without. */
static bool is_full(const struct ward *ward)
{
	return ward->taken.disrupted_count >= BUDGET_DISRUPTED_MAX;
}

const struct ward *wards_against(const struct wards *wards, struct pl_span space,
                                 const struct labels *labels, bool past)
{
	for (uint32_t i = 0; i < wards->count; i++) {
		const struct ward *ward = &wards->ward[i];

		if (covers(wards, ward, space, labels) &&
		    (is_full(ward) || (!past && !budget_record_allows(&ward->taken, 1))))
			return ward;
	}
	return NULL;
}

enum pl_code wards_take(struct wards *wards, struct pl_span space,
                        const struct labels *labels, struct pl_span name,
                        int64_t state_rev, struct pl_err *err)
{
	const struct budget_disrupted pod = {name, state_rev};
	enum pl_code code = PL_OK;

	wards->used = true;
	for (uint32_t i = 0; i < wards->count && code == PL_OK; i++) {
		struct ward *ward = &wards->ward[i];

		if (!covers(wards, ward, space, labels))
			continue;
		ward->touched = true;
		code = budget_record_disrupt(&ward->taken, &pod, 1, &wards->arena,
		                             &ward->taken, err);
	}
	return code;
}

static bool book_ward(struct wards *wards, struct book *book, const struct ward *ward)
{
	struct pl_buf buf;
	struct pl_span value = {0};
	bool fits = false;

	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	if (budget_record_print(&ward->taken, &buf, NULL) == PL_OK)
		value = pl_arena_dup(&wards->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	if (value.at == NULL)
		book->code = PL_NOMEM;
	else
		fits = book_put(book, keys_span(&ward->key), ward->rev, value);
	return fits;
}

bool wards_book(struct wards *wards, struct book *book)
{
	struct pl_span lock;

	for (uint32_t i = 0; i < wards->count; i++)
		if (wards->ward[i].touched && !book_ward(wards, book, &wards->ward[i]))
			return false;
	if (!wards->used)
		return true;
	lock = lock_key(book->arena);
	if (lock.at == NULL)
		book->code = PL_NOMEM;
	return lock.at != NULL && book_expect(book, lock, wards->lock_rev);
}
