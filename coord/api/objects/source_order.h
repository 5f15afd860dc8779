/* How a source orders the keys of the store: by object, then by part. Pure. Internal to
 * coord/api/objects. */
#ifndef COORD_API_OBJECTS_SOURCE_ORDER_H
#define COORD_API_OBJECTS_SOURCE_ORDER_H

#include "coord/api/objects/sources.h"

/* The kind of keys by which a source lists. */
struct source_layout {
	enum keys_kind kind;
	const char *prefix;
	const char
		*tick; /* the key that shows that nothing is new (cache.h); NULL: none */
};
extern const struct source_layout source_layouts[SOURCE_KINDS];

/* Whether an entry of the key belongs into the source. */
bool source_wants(enum source_kind kind, struct pl_span key);
/* The key is wanted. Returns the length. */
size_t source_order(enum source_kind kind, struct pl_span key,
                    uint8_t out[SOURCE_ORDER_MAX]);

/* The order without the part: what all entries of an object have in common. */
struct pl_span source_order_object(struct pl_span order);
/* Splits the order of an object. */
void source_order_names(bool namespaced, struct pl_span order, struct pl_span *namespace,
                        struct pl_span *name);
/* The part that an entry is, by its order: 'm' main, 's' state, 'c' current, 'v' version. */
char source_order_part(struct pl_span order);

#endif
