/* The values of messages: the parts of the decoder of protobuf. */
#ifndef COORD_API_SCHEMA_SCHEMA_PROTOBUF_INT_H
#define COORD_API_SCHEMA_SCHEMA_PROTOBUF_INT_H

#include "coord/api/schema/schema_place.h"
#include "coord/api/schema/schema_protobuf.h"
#include "store/etcd/wire.h"

struct protobuf_decoder {
	struct pl_arena *arena;
	const struct pl_json_limits *limits;
	struct json_tree *tree;
	struct pl_err *err;
	enum pl_code code;
	uint32_t values, unknown;
};

/* Keeps the first failure. */
void protobuf_fail(struct protobuf_decoder *d, enum pl_code code,
                   const struct schema_place *place, const char *why);
/* Every value passes here: a message of a few bytes makes a node of many. node NULL: no
 * memory. */
struct cJSON *protobuf_count(struct protobuf_decoder *d, const struct schema_place *place,
                             struct cJSON *node);

/* Small messages, whose JSON is a scalar: their three fields at most, by number. A field
 * that lacks is zero. */
struct protobuf_small {
	struct wire_field field[4];
	bool has[4];
};

bool protobuf_small(struct protobuf_decoder *d, const struct schema_place *place,
                    struct pl_span bytes, struct protobuf_small *out);
struct pl_span protobuf_small_bytes(const struct protobuf_small *small, unsigned number);

/* UTF-8 without NUL. */
bool protobuf_is_text(struct pl_span span);

/* Each returns a node, or NULL after a failure. */
struct cJSON *protobuf_text(struct protobuf_decoder *d, const struct schema_place *place,
                            struct pl_span bytes);
struct cJSON *protobuf_int(struct protobuf_decoder *d, const struct schema_place *place,
                           uint64_t number, bool narrow);
struct cJSON *protobuf_base64(struct protobuf_decoder *d,
                              const struct schema_place *place, struct pl_span bytes);
struct cJSON *protobuf_quantity(struct protobuf_decoder *d,
                                const struct schema_place *place, struct pl_span bytes);
struct cJSON *protobuf_int_or_string(struct protobuf_decoder *d,
                                     const struct schema_place *place,
                                     struct pl_span bytes);
/* Also NULL for an empty message, which is no time: *absent. */
struct cJSON *protobuf_time(struct protobuf_decoder *d, const struct schema_place *place,
                            struct pl_span bytes, bool micro, bool *absent);
struct cJSON *protobuf_any(struct protobuf_decoder *d, const struct schema_place *place,
                           struct pl_span bytes);

#endif
