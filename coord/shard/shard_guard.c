#include "coord/shard/shard_int.h"
#include "store/keys/partition.h"
#include "store/kv/borrowed.h"
#include "store/kv/keys.h"

/*
 * The guarded kv of the shard's work. A write below /schedules/<p>/ needs the fence of
 * p, which must be owned. Writes to other nodes, to pods of other partitions and to
 * the locks between them are protected by their own compares; they still need some
 * fence of this shard, so that a shard that has lost everything can not write them. A
 * range over several partitions has no fence and is refused. All other keys are free.
 * Keys are judged as ranges [low, high).
 */

enum { SCHEDULE_DIGITS = 4 };

#define SCHEDULES "/schedules/"
#define SCHEDULES_END "/schedules0" /* '0' is the character after '/' */

struct key_span {
	struct pl_span low;
	struct pl_span high; /* at NULL: there is no upper end */
	bool one;            /* the range is the key low alone; high is not set */
	uint8_t room[KEYS_SIZE_MAX];
};

/* False: longer than any key of ours, or it can not be judged. */
static bool span_of(const struct kv_keys *keys, struct key_span *out)
{
	out->low = keys->from;
	out->high = (struct pl_span){0};
	out->one = keys->kind == KV_ONE;
	if (keys->from.len > sizeof out->room)
		return false;
	if (keys->kind == KV_RANGE)
		out->high = keys->to;
	if (keys->kind == KV_PREFIX)
		out->high = kv_prefix_end(keys->from, out->room);
	return true;
}

static bool ends_by(const struct key_span *span, struct pl_span end)
{
	if (span->one)
		return pl_span_cmp(span->low, end) < 0;
	return span->high.len != 0 && pl_span_cmp(span->high, end) <= 0;
}

static bool is_apart(const struct key_span *span)
{
	return ends_by(span, PL_SPAN_LIT(SCHEDULES)) ||
	       pl_span_cmp(span->low, PL_SPAN_LIT(SCHEDULES_END)) >= 0;
}

/* The partition that contains the whole range; false: there is none. */
static bool partition_of(const struct key_span *span, uint32_t *out)
{
	size_t digits = sizeof SCHEDULES - 1, len = digits + SCHEDULE_DIGITS + 1;
	uint8_t end[sizeof SCHEDULES + SCHEDULE_DIGITS + 1];
	uint32_t partition = 0;

	if (!pl_span_starts(span->low, PL_SPAN_LIT(SCHEDULES)) || span->low.len < len ||
	    span->low.at[len - 1] != '/')
		return false;
	for (size_t i = digits; i < digits + SCHEDULE_DIGITS; i++) {
		if (span->low.at[i] < '0' || span->low.at[i] > '9')
			return false;
		partition = partition * 10 + (uint32_t)(span->low.at[i] - '0');
	}
	if (!ends_by(span, kv_prefix_end(pl_span(span->low.at, len), end)))
		return false;
	*out = partition;
	return true;
}

static bool fence_of(const struct shard *shard, uint32_t partition,
                     struct guard_fence *out)
{
	const struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};

	out->create_revision = shard_epoch(shard, partition);
	if (out->create_revision == 0)
		return false;
	out->lease = claims_lease(shard->claims);
	if (out->lease != 0 && keys_build(&id, &out->key, NULL) == PL_OK)
		return true;
	out->create_revision = 0;
	return false;
}

/* The fence of any owned partition. Terms are registered, missing locks are made, and
 * room is reserved on nodes of other shards before anything is written for the pods
 * that need them. */
static void any_fence(const struct shard *shard, struct guard_fence *out)
{
	for (uint32_t p = 0; p < shard->partitions; p++)
		if (fence_of(shard, p, out))
			return;
}

/* Whether the user was told that the partition is owned, or its key says so, even if
 * the shard may not act at present. */
static bool is_ours(const struct shard *shard, uint32_t partition)
{
	const struct owner *owner;

	if (shard->epoch[partition] != 0 || shard->claims == NULL)
		return true;
	owner = claims_owner(shard->claims, partition);
	return owner != NULL && pl_span_eq(pl_span_str(owner->shard), shard_id(shard));
}

/* Whether it is one key of a kind that transactions of many shards write. */
static bool is_shared(const struct kv_keys *written, struct keys_id *id)
{
	if (written->kind != KV_ONE || keys_parse(written->from, id, NULL) != PL_OK)
		return false;
	return id->kind == KEYS_ALLOC || id->kind == KEYS_GROUP ||
	       id->kind == KEYS_REGISTRY || id->kind == KEYS_REGISTRY_GLOBAL ||
	       id->kind == KEYS_TOPOLOGY || id->kind == KEYS_BUDGET;
}

static bool is_gang(const struct kv_keys *written, struct keys_id *id)
{
	return written->kind == KV_ONE && keys_parse(written->from, id, NULL) == PL_OK &&
	       id->kind == KEYS_GANG;
}

/* Only the owner of a gang's partition may write how far the gang has come. */
static enum guard_need need_of_gang(const struct shard *shard, const struct keys_id *id,
                                    struct guard_fence *out)
{
	const struct partition_group group = {.namespace = id->scope, .gang = id->name};
	uint32_t partition;

	if (partition_of_group(&group, shard->partitions, &partition, NULL) != PL_OK)
		return GUARD_REFUSE;
	return fence_of(shard, partition, out) ? GUARD_FENCE : GUARD_REFUSE;
}

static enum guard_need find_need(void *ctx, const struct kv_keys *written,
                                 struct guard_fence *out)
{
	const struct shard *shard = ctx;
	struct key_span span;
	struct keys_id id;
	uint32_t partition;

	if (is_shared(written, &id)) {
		if (id.kind != KEYS_BUDGET &&
		    (id.kind != KEYS_ALLOC || !fence_of(shard, id.partition, out)))
			any_fence(shard, out);
		return GUARD_ANCHOR;
	}
	if (is_gang(written, &id))
		return need_of_gang(shard, &id, out);
	if (!span_of(written, &span))
		return pl_span_starts(written->from, PL_SPAN_LIT(SCHEDULES)) ||
		                       written->kind != KV_ONE
		               ? GUARD_REFUSE
		               : GUARD_FREE;
	if (is_apart(&span))
		return GUARD_FREE;
	if (!partition_of(&span, &partition))
		return GUARD_REFUSE;
	if (fence_of(shard, partition, out))
		return GUARD_FENCE;
	return span.one && partition < shard->partitions && !is_ours(shard, partition)
	               ? GUARD_ANCHOR
	               : GUARD_REFUSE;
}

/* Reported later: the guarded kv may not be used from inside this call, and the user
 * may want to. */
static void on_fenced(void *ctx, const struct guard_fence *fence)
{
	struct shard *shard = ctx;
	struct keys_id id;

	if (keys_parse(keys_span(&fence->key), &id, NULL) != PL_OK)
		PL_UNREACHABLE("a fence that is no owner key");
	PL_ASSERT(id.partition < shard->partitions);
	shard->fenced++;
	shard->fenced_epoch[id.partition] = fence->create_revision;
	shard->fenced_due = true;
	publish_soon(shard);
	shard_kick(shard);
	if (shard->claims != NULL)
		claims_fenced(shard->claims, id.partition, fence->create_revision);
}

void guard_report(struct shard *shard, uint32_t partition)
{
	int64_t epoch = shard->fenced_epoch[partition];

	if (epoch == 0)
		return;
	shard->fenced_epoch[partition] = 0;
	shard_report(shard, &(struct shard_note){.what = SHARD_FENCED,
	                                         .partition = partition,
	                                         .epoch = epoch});
}

void guard_review(struct shard *shard)
{
	if (!shard->fenced_due)
		return;
	shard->fenced_due = false;
	for (uint32_t p = 0; p < shard->partitions; p++)
		guard_report(shard, p);
}

static void on_lent_closed(void *ctx)
{
	(void)ctx;
}

enum pl_code shard_guard_open(struct shard *shard, struct pl_err *err)
{
	struct guard guard = {.need = find_need, .fenced = on_fenced, .ctx = shard};
	struct kv *lent = NULL;
	enum pl_code code = borrowed_open(shard->kv, &lent, err);

	if (code != PL_OK)
		return code;
	code = guarded_open(lent, &guard, &shard->guarded, err);
	if (code != PL_OK)
		kv_close(lent, on_lent_closed, NULL);
	return code;
}

static void on_closed(void *ctx)
{
	struct shard *shard = ctx;

	part_off(shard, PART_GUARD);
}

void shard_guard_close(struct shard *shard)
{
	struct kv *kv = PL_STEAL(shard->guarded);

	kv_close(kv, on_closed, shard);
}
