#include "shardsched/model/intern.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { CAP_MIN = 16 };

void intern_init(struct intern *intern, struct model *model, intern_release_fn *release)
{
	*intern = (struct intern){.release = release, .model = model};
	pl_map_init(&intern->map);
}

void intern_done(struct intern *intern)
{
	PL_ASSERT(intern->map.count == 0);
	pl_map_done(&intern->map);
	free(intern->by_id);
	free(intern->unused);
	intern->by_id = NULL;
	intern->unused = NULL;
}

static struct pl_span bytes_of(const struct intern_item *value, size_t size)
{
	return pl_span(value + 1, size - sizeof *value);
}

/* Room to give one number more, and to take any back without memory. */
static bool room_for_id(struct intern *intern)
{
	uint32_t cap = intern->cap == 0 ? CAP_MIN : intern->cap * 2;
	struct intern_item **by_id;
	uint32_t *unused;

	if (intern->unused_count > 0 || intern->ids + 1 < intern->cap)
		return true;
	if (intern->cap > UINT32_MAX / 4)
		return false;
	by_id = pl_realloc(intern->by_id, cap * sizeof(struct intern_item *));
	if (by_id == NULL)
		return false;
	intern->by_id = by_id;
	unused = pl_realloc(intern->unused, cap * sizeof *unused);
	if (unused == NULL)
		return false;
	intern->unused = unused;
	intern->cap = cap;
	return true;
}

static uint32_t take_id(struct intern *intern)
{
	if (intern->unused_count > 0)
		return intern->unused[--intern->unused_count];
	return ++intern->ids;
}

static struct intern_item *add(struct intern *intern, const struct intern_item *draft,
                               size_t size)
{
	struct intern_item *value = pl_malloc(size);
	struct pl_map_node *twin;

	if (value == NULL || !room_for_id(intern)) {
		free(value);
		return NULL;
	}
	*value = (struct intern_item){.refs = 1};
	memcpy(value + 1, draft + 1, size - sizeof *value);
	twin = pl_map_add(&intern->map, &value->node, bytes_of(value, size));
	PL_ASSERT(twin == NULL);
	value->id = take_id(intern);
	intern->by_id[value->id] = value;
	intern->bytes += size;
	return value;
}

enum pl_code intern_take(struct intern *intern, struct intern_item *draft, size_t size,
                         const struct intern_item **out)
{
	struct pl_map_node *twin;
	struct intern_item *value;

	PL_ASSERT(size > sizeof *draft);
	twin = pl_map_get(&intern->map, bytes_of(draft, size));
	if (twin != NULL) {
		value = PL_CONTAINER_OF(twin, struct intern_item, node);
		intern->release(intern->model, draft);
		intern_ref(value);
		*out = value;
		return PL_OK;
	}
	value = add(intern, draft, size);
	if (value == NULL) {
		intern->release(intern->model, draft);
		return PL_NOMEM;
	}
	*out = value;
	return PL_OK;
}

/* Ours to count: every shared value was allocated above. */
static struct intern_item *own(const struct intern_item *value)
{
	return (struct intern_item *)(uintptr_t)value;
}

void intern_ref(const struct intern_item *value)
{
	if (value == NULL)
		return;
	PL_ASSERT(value->refs > 0 && value->refs < UINT32_MAX);
	own(value)->refs++;
}

void intern_unref(struct intern *intern, const struct intern_item *value)
{
	struct intern_item *mine;

	if (value == NULL)
		return;
	mine = own(value);
	PL_ASSERT(mine->refs > 0 && intern->by_id[mine->id] == mine);
	if (--mine->refs > 0)
		return;
	intern->by_id[mine->id] = NULL;
	intern->unused[intern->unused_count++] = mine->id;
	intern->bytes -= sizeof *mine + mine->node.key.len;
	pl_map_del(&intern->map, &mine->node);
	intern->release(intern->model, mine);
	free(mine);
}

const struct intern_item *intern_by_id(const struct intern *intern, uint32_t id)
{
	return id == 0 || id > intern->ids ? NULL : intern->by_id[id];
}
