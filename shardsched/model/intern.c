#include "shardsched/model/intern.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { CAP_MIN = 16 };

static struct bucket_link *link_of(const void *owner, uint32_t id)
{
	const struct intern *intern = owner;

	return &intern->by_id[id].value->link;
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
	free(intern->by_id);
	intern->by_id = NULL;
}

static struct pl_span bytes_of(const struct intern_item *value, size_t size)
{
	return pl_span(value + 1, size - sizeof *value);
}

static struct intern_item *find(const struct intern *intern, struct pl_span bytes,
                                uint32_t hash)
{
	uint32_t id = buckets_chain(&intern->buckets, hash);

	while (id != 0) {
		struct intern_item *value = intern->by_id[id].value;

		if (value->link.hash == hash &&
		    pl_span_eq(bytes_of(value, value->size), bytes))
			return value;
		id = value->link.next;
	}
	return NULL;
}

/* Room to give one number more, and to take any back without memory. */
static bool room_for_id(struct intern *intern)
{
	uint32_t cap = intern->cap == 0 ? CAP_MIN : intern->cap * 2;
	union intern_entry *by_id;

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

static bool is_unused(union intern_entry entry)
{
	return (entry.unused & 1) != 0;
}

static uint32_t take_id(struct intern *intern)
{
	uint32_t id = intern->unused;

	if (id == 0)
		return ++intern->ids;
	intern->unused = (uint32_t)(intern->by_id[id].unused >> 1);
	return id;
}

static void give_id(struct intern *intern, uint32_t id)
{
	intern->by_id[id].unused = (uintptr_t)intern->unused << 1 | 1;
	intern->unused = id;
}

static struct intern_item *add(struct intern *intern, const struct intern_item *draft,
                               uint32_t size, uint32_t hash)
{
	struct intern_item *value = pl_malloc(size);

	if (value == NULL || !room_for_id(intern) || !buckets_ready(&intern->buckets)) {
		free(value);
		return NULL;
	}
	memcpy(value, draft, size);
	*value = (struct intern_item){
		.link.hash = hash, .refs = 1, .id = take_id(intern), .size = size};
	intern->by_id[value->id].value = value;
	buckets_add(&intern->buckets, value->id);
	intern->bytes += size;
	intern->count++;
	return value;
}

enum pl_code intern_take(struct intern *intern, struct intern_item *draft, size_t size,
                         const struct intern_item **out)
{
	uint32_t hash = (uint32_t)pl_hash_keyed(bytes_of(draft, size), intern->key);
	struct intern_item *value = find(intern, bytes_of(draft, size), hash);

	PL_ASSERT(size > sizeof *draft);
	if (value == NULL && size < UINT32_MAX) {
		value = add(intern, draft, (uint32_t)size, hash);
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
static struct intern_item *own(struct intern *intern, const struct intern_item *value)
{
	PL_ASSERT(value->id <= intern->ids && value->refs > 0);
	PL_ASSERT(intern->by_id[value->id].value == value);
	return intern->by_id[value->id].value;
}

void intern_ref(struct intern *intern, const struct intern_item *value)
{
	if (value == NULL)
		return;
	PL_ASSERT(value->refs < UINT32_MAX);
	own(intern, value)->refs++;
}

void intern_unref(struct intern *intern, const struct intern_item *value)
{
	struct intern_item *mine;

	if (value == NULL)
		return;
	mine = own(intern, value);
	if (--mine->refs > 0)
		return;
	buckets_del(&intern->buckets, mine->id);
	give_id(intern, mine->id);
	intern->bytes -= mine->size;
	intern->count--;
	intern->release(intern->model, mine);
	free(mine);
}

const struct intern_item *intern_by_id(const struct intern *intern, uint32_t id)
{
	bool there = id != 0 && id <= intern->ids && !is_unused(intern->by_id[id]);

	return there ? intern->by_id[id].value : NULL;
}
