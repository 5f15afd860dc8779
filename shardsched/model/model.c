#include "shardsched/model/model.h"

#define DECLARE(name, lower) intern_release_fn lower##_release;
MODEL_KIND_MAP(DECLARE)

#define RELEASE(name, lower) lower##_release,
static intern_release_fn *const release[MODEL_KIND_COUNT] = {MODEL_KIND_MAP(RELEASE)};

void model_init(struct model *model)
{
	strings_init(&model->strings);
	model->identities = (struct identities){.named = 0};
	for (int kind = 0; kind < MODEL_KIND_COUNT; kind++)
		intern_init(&model->intern[kind], model, release[kind]);
}

void model_done(struct model *model)
{
	for (int kind = 0; kind < MODEL_KIND_COUNT; kind++)
		intern_done(&model->intern[kind]);
	PL_ASSERT(model->strings.count == 0);
	strings_done(&model->strings);
}

size_t model_memory(const struct model *model)
{
	size_t bytes = strings_memory(&model->strings);

	for (int kind = 0; kind < MODEL_KIND_COUNT; kind++) {
		const struct intern *intern = &model->intern[kind];

		bytes += slab_memory(&intern->slab) +
		         (intern->buckets.cap + intern->cap) * sizeof(uint32_t);
	}
	return bytes;
}

void maker_init(struct maker *maker, struct model *model, struct pl_arena *arena)
{
	*maker = (struct maker){.model = model, .arena = arena};
}

uint32_t maker_text(struct maker *maker, struct pl_span text)
{
	uint32_t id = 0;

	if (maker->code == PL_OK)
		maker->code = strings_add(&maker->model->strings, text, &id);
	return id;
}

uint32_t maker_name(struct maker *maker, struct pl_span text)
{
	return text.len == 0 ? 0 : maker_text(maker, text);
}

void *maker_alloc(struct maker *maker, size_t size)
{
	void *room = NULL;

	if (maker->code != PL_OK)
		return NULL;
	room = pl_arena_zalloc(maker->arena, 1, size);
	if (room == NULL)
		maker->code = PL_NOMEM;
	return room;
}

const void *maker_intern(struct maker *maker, enum model_kind kind, void *draft,
                         size_t size)
{
	const struct intern_item *value = NULL;

	if (draft == NULL) {
		PL_ASSERT(maker->code != PL_OK);
		return NULL;
	}
	if (maker->code != PL_OK) {
		release[kind](maker->model, draft);
		return NULL;
	}
	maker->code = intern_add(&maker->model->intern[kind], draft, size, &value);
	return value;
}

const void *model_ref(struct model *model, enum model_kind kind, const void *value)
{
	intern_ref(&model->intern[kind], value);
	return value;
}

void model_unref(struct model *model, enum model_kind kind, const void *value)
{
	intern_unref(&model->intern[kind], value);
}
