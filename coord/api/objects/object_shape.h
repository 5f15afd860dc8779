/*
 * The shape in which a client wants objects: whole, their metadata only, or rows of a
 * Table. Objects are written in it one by one, for lists and for events alike.
 */
#ifndef COORD_API_OBJECTS_OBJECT_SHAPE_H
#define COORD_API_OBJECTS_OBJECT_SHAPE_H

#include "coord/api/objects/object.h"
#include "coord/api/reply/accept.h"
#include "coord/api/reply/table.h"

struct object_shape {
	enum accept_as as;
	bool beta;
	enum table_include include;
};

static inline bool object_shape_eq(struct object_shape a, struct object_shape b)
{
	return a.as == b.as && a.beta == b.beta && a.include == b.include;
}

/* Adds one object; of a Table the whole Table with one row, headers only where asked
 * for. scratch is reset. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code object_shape_write(struct object_shape shape,
                                             const struct object *object, bool headers,
                                             int64_t now_ms, struct pl_arena *scratch,
                                             struct pl_buf *out);

/* The same for an object that is JSON already. */
PL_NODISCARD enum pl_code object_shape_text(struct object_shape shape,
                                            const struct schema_resource *resource,
                                            struct pl_span json, int64_t now_ms,
                                            struct pl_arena *scratch, struct pl_buf *out);

#endif
