/*
 * A pod may be looked at by more terms than a transaction has room for locks. Whoever
 * decides under a term has compared the registry in which it stands, and once that is put
 * as it is, does not get through; nor is anybody decided then, until the view has reached
 * it (registries.c). So a registry that is put stands for all locks of its terms. It
 * costs more than these: everybody whose transaction compares it is sent back, and all
 * shards read it again.
 *
 * One that is large is not put: with another, or with a node's alloc, it would not go
 * into a transaction. /groups/nodes is put instead, which whoever decides under any term
 * compares, too: so everybody is sent back, be it for terms of other namespaces.
 *
 * What is decided under a term compares the lock of just that one. Of whom so many terms
 * concern that these do not fit is not decided (rules.many).
 */
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"

enum {
	OPS_DEFAULT = 128,
	PARTS = 4, /* of what a transaction takes, that locks may have one by one */
	BYTES_DEFAULT = 3 << 19,
	BYTE_PARTS = 12, /* that a registry may have */
};

bool many_are(const struct sched *sched, uint32_t locks)
{
	uint32_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;

	return locks > ops / PARTS;
}

void many_again(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->groups.spaces) {
		const struct group_space *space =
			PL_CONTAINER_OF(at, struct group_space, by_name);

		PL_LIST_EACH (link, &space->classes)
			PL_LIST_ITEM(link, struct bonds, of_space)->many = false;
	}
}

uint32_t many_keys_of(const struct sched *sched, const struct bonds *bonds)
{
	uint32_t count = bond_rows_of(bonds)->count;

	return many_are(sched, count) ? MANY_KEYS : count;
}

static struct pl_span key_of(const struct sched *sched, const struct group_space *space,
                             struct keys_text *text)
{
	const struct keys_id id = {.kind = space->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                    : KEYS_REGISTRY,
	                           .scope = sched_text(sched, space->name)};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	return keys_span(text);
}

static bool is_large(const struct sched *sched, const struct group_space *space)
{
	size_t most = sched->limits.request_bytes == 0 ? BYTES_DEFAULT
	                                               : sched->limits.request_bytes;

	return space->bytes > most / BYTE_PARTS;
}

bool many_is_put(const struct sched *sched, const struct call *call,
                 const struct group_space *space)
{
	if (space == NULL)
		return false;
	if (space->put == call->serial || sched->groups.shape_put == call->serial)
		return true;
	if (call->bundle && groups_bundle_puts_shape(sched))
		return true;
	return call->bundle && space->bundle == sched->bundle.number + 1;
}

static enum pl_code put(struct call *call, struct call_item item, struct pl_span key)
{
	if (!book_bump(&call->book, key, item.value))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	return call_item_of(call, &item, key);
}

static enum pl_code put_registry(struct sched *sched, struct call *call,
                                 struct group_space *space)
{
	struct pl_err err = {0};
	struct keys_text text;
	struct call_item item = {0};
	enum pl_code code;

	code = register_print(sched, space, &err);
	if (code != PL_OK)
		return code;
	item.value = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	if (item.value.at == NULL)
		return PL_NOMEM;
	code = put(call, item, key_of(sched, space, &text));
	if (code == PL_OK)
		space->put = call->serial;
	return code;
}

enum pl_code many_put(struct sched *sched, struct call *call, const struct group *group)
{
	struct group_space *space = group->space;
	struct keys_text text;
	enum pl_code code;

	/* Not registered any more, and not all know: the registry that is compared is
	 * old. */
	if (space == NULL || many_is_put(sched, call, space))
		return PL_OK;
	if (!is_large(sched, space))
		return put_registry(sched, call, space);
	code = put(call, (struct call_item){.value = GROUPS_SHAPE_VALUE},
	           groups_shape_key(&text));
	if (code == PL_OK)
		sched->groups.shape_put = call->serial;
	return code;
}

void many_bundle(struct sched *sched, const struct group *group)
{
	struct group_space *space = group->space;
	struct bundle_extra extra = {.how = BUNDLE_BUMP};
	struct pl_err err = {0};
	struct keys_text text;

	if (space == NULL || space->bundle == sched->bundle.number + 1 ||
	    groups_bundle_puts_shape(sched))
		return;
	if (is_large(sched, space)) {
		groups_bundle_shape(sched, false, true);
		return;
	}
	if (register_print(sched, space, &err) != PL_OK) {
		bundle_break(sched);
		return;
	}
	extra.key = key_of(sched, space, &text);
	extra.value = pl_buf_span(&sched->buf);
	if (bundle_extra(sched, &extra) != UINT32_MAX)
		space->bundle = sched->bundle.number + 1;
}
