/*
 * A model: the strings and interned values that a shard's objects share. One thread uses
 * it.
 *
 * Invariants: an object (a pod, a node, ...) holds references into its model until it is
 * dropped; all objects are dropped before the model is done.
 *
 * Values are made through a maker, which keeps the first failure, so a sequence of values
 * is made without a check after each; maker.code is checked once in the end. The caller
 * gives back the values that were made before a failure.
 */
#ifndef SHARDSCHED_MODEL_MODEL_H
#define SHARDSCHED_MODEL_MODEL_H

#include "shardsched/model/draft.h"
#include "shardsched/model/identity.h"
#include "shardsched/model/intern.h"
#include "shardsched/model/strings.h"
#include "store/base/arena.h"

/* X(NAME, name): values of that kind, released by name_release. */
#define MODEL_KIND_MAP(X)                \
	X(LABELS, labels)                \
	X(SELECTORS, selector)           \
	X(NODE_SELECTORS, node_selector) \
	X(TAINTS, taints)                \
	X(TAINT_TIMES, taint_times)      \
	X(TOLERATIONS, tolerations)      \
	X(POD_TERMS, pod_term)           \
	X(RESOURCES, resources)          \
	X(IMAGES, images)                \
	X(POD_TEMPLATES, pod_template)   \
	X(SPECS, spec)

#define MODEL_KIND_ENUM(name, lower) MODEL_##name,
enum model_kind { MODEL_KIND_MAP(MODEL_KIND_ENUM) MODEL_KIND_COUNT };

/* May not be moved or copied. */
struct model {
	struct strings strings;
	struct intern intern[MODEL_KIND_COUNT];
	struct identities identities;
};

void model_init(struct model *model);
/* The model is empty: all references were given back. */
void model_done(struct model *model);

/* Heap bytes, without what the allocator adds. */
size_t model_memory(const struct model *model);

/* arena: drafts of values, as long as the maker. */
struct maker {
	struct model *model;
	struct pl_arena *arena;
	enum pl_code code;
};

void maker_init(struct maker *maker, struct model *model, struct pl_arena *arena);

/* A string's number with a reference. 0 on failure. */
uint32_t maker_text(struct maker *maker, struct pl_span text);
/* As maker_text, but 0 for the empty string. */
uint32_t maker_name(struct maker *maker, struct pl_span text);

/* Zeroed memory from the arena, NULL on failure. */
void *maker_alloc(struct maker *maker, size_t size);

/* The shared value that equals draft, NULL on failure, whatever failed before. Takes
 * over draft's references. */
const void *maker_intern(struct maker *maker, enum model_kind kind, void *draft,
                         size_t size);

/* Adds a reference to an interned value; gives one back. NULL does nothing. */
const void *model_ref(struct model *model, enum model_kind kind, const void *value);
void model_unref(struct model *model, enum model_kind kind, const void *value);

static inline struct pl_span model_text(const struct model *model, uint32_t id)
{
	return strings_get(&model->strings, id);
}

#endif
