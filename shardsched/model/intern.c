#include "shardsched/model/intern.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { CAP_MIN = 16 };

#define UNUSED (UINT32_C(1) << 31)

static struct intern_item *value_at(const struct intern *intern, uint32_t id)
{
	return slab_at(&intern->slab, intern->by_id[id]);
}

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	return &value_at(owner, id)->link;
}

void intern_init(struct intern *intern, struct model *model, intern_release_fn *release)
{
	*intern = (struct intern){
		.release = release, .model = model, .key = pl_hash_process_key()};
	buckets_init(&intern->buckets, intern, link_of);
}

void intern_done(struct intern *intern)
{
	PL_ASSERT(intern->count == 0);
	buckets_done(&intern->buckets);
	slab_done(&intern->slab);
	free(intern->by_id);
	intern->by_id = NULL;
}

static struct pl_span bytes_of(const struct intern_item *value, size_t size)
{
	return pl_span(value + 1, size - sizeof *value);
}

static struct intern_item *find_value(const struct intern *intern, struct pl_span bytes,
                                      uint32_t hash)
{
	uint32_t id = buckets_chain(&intern->buckets, hash);

	while (id != 0) {
		struct intern_item *value = value_at(intern, id);

		if (value->link.hash == hash &&
		    pl_span_eq(bytes_of(value, value->size), bytes))
			return value;
		id = value->link.next;
	}
	return NULL;
}

/* Makes room to give one number more, so that giving it back needs no memory. */
static bool reserve_id(struct intern *intern)
{
	uint32_t cap = intern->cap < CAP_MIN ? CAP_MIN : intern->cap + intern->cap / 8;
	uint32_t *by_id;

	if (intern->unused != 0 || intern->ids + 1 < intern->cap)
		return true;
	if (intern->cap > UINT32_MAX / 4)
		return false;
	by_id = pl_realloc(intern->by_id, cap * sizeof *by_id);
	if (by_id == NULL)
		return false;
	intern->by_id = by_id;
	intern->cap = cap;
	return true;
}

static uint32_t alloc_id(struct intern *intern)
{
	uint32_t id = intern->unused;

	if (id == 0)
		return ++intern->ids;
	intern->unused = intern->by_id[id] & ~UNUSED;
	return id;
}

static void release_id(struct intern *intern, uint32_t id)
{
	intern->by_id[id] = intern->unused | UNUSED;
	intern->unused = id;
}

static struct intern_item *add_value(struct intern *intern,
                                     const struct intern_item *draft, uint32_t size,
                                     uint32_t hash)
{
	/* Sizes are multiples of 8, so all values are aligned for addresses. */
	uint32_t piece = slab_alloc(&intern->slab, ((size_t)size + 7) / 8 * 8);
	struct intern_item *value;

	if (piece == 0 || !reserve_id(intern) || !buckets_ready(&intern->buckets)) {
		if (piece != 0)
			slab_free(&intern->slab, piece);
		return NULL;
	}
	value = slab_at(&intern->slab, piece);
	memcpy(value, draft, size);
	*value = (struct intern_item){
		.link.hash = hash, .refs = 1, .id = alloc_id(intern), .size = size};
	intern->by_id[value->id] = piece;
	buckets_add(&intern->buckets, value->id);
	intern->count++;
	return value;
}

enum pl_code intern_add(struct intern *intern, struct intern_item *draft, size_t size,
                        const struct intern_item **out)
{
	uint32_t hash = (uint32_t)pl_hash_keyed(bytes_of(draft, size), intern->key);
	struct intern_item *value = find_value(intern, bytes_of(draft, size), hash);

	PL_ASSERT(size > sizeof *draft);
	if (value == NULL && size < UINT32_MAX - 64) {
		value = add_value(intern, draft, (uint32_t)size, hash);
	} else if (value != NULL) {
		intern_ref(intern, value);
		intern->release(intern->model, draft);
	}
	if (value == NULL) {
		intern->release(intern->model, draft);
		return PL_NOMEM;
	}
	*out = value;
	return PL_OK;
}

/* Shared values are constant but for their counters. */
static struct intern_item *mutable_item(struct intern *intern,
                                        const struct intern_item *value)
{
	PL_ASSERT(value->id <= intern->ids && value->refs > 0);
	PL_ASSERT(value_at(intern, value->id) == value);
	return value_at(intern, value->id);
}

void intern_ref(struct intern *intern, const struct intern_item *value)
{
	if (value == NULL)
		return;
	PL_ASSERT(value->refs < UINT32_MAX);
	mutable_item(intern, value)->refs++;
}

void intern_unref(struct intern *intern, const struct intern_item *value)
{
	struct intern_item *mine;
	uint32_t piece;

	if (value == NULL)
		return;
	mine = mutable_item(intern, value);
	if (--mine->refs > 0)
		return;
	buckets_del(&intern->buckets, mine->id);
	piece = intern->by_id[mine->id];
	release_id(intern, mine->id);
	intern->count--;
	intern->release(intern->model, mine);
	slab_free(&intern->slab, piece);
}

const struct intern_item *intern_by_id(const struct intern *intern, uint32_t id)
{
	bool there = id != 0 && id <= intern->ids && (intern->by_id[id] & UNUSED) == 0;

	return there ? value_at(intern, id) : NULL;
}
