/*
 * A reader: from JSON to drafts. It keeps the first failure, with the field's path in
 * err, and reads nothing afterwards, so a struct is read without a check after each
 * member.
 *
 * Decoding is Kubernetes': null counts as absent, unknown members are passed over, a
 * value of another type is refused. Lists and maps are bounded.
 */
#ifndef SHARDSCHED_MODEL_READER_H
#define SHARDSCHED_MODEL_READER_H

#include "shardsched/model/draft.h"
#include "store/base/json.h"

enum {
	READER_ENTRIES_MAX = 2048, /* elements of one list or map */
	READER_BYTES_MAX = 3 << 20,
	READER_ARENA_MAX = 64 << 20,
};

struct reader {
	struct pl_arena *arena;
	struct pl_err *err;
	enum pl_code code;
};

/* The document's root, which must be an object; absent on failure. err not NULL. */
struct pl_json reader_init(struct reader *reader, struct pl_arena *arena,
                           struct pl_span json, struct pl_err *err);
/* Reads a document that was parsed before. */
void reader_over(struct reader *reader, struct pl_arena *arena, struct pl_err *err);

/* Memory for an array of count elements; NULL when count is 0, or on failure. */
void *reader_alloc(struct reader *reader, size_t count, size_t size);

/* The member of an object; absent when the object is absent. */
struct pl_json reader_object(struct reader *reader, struct pl_json object,
                             const char *name);
/* The member that is a list, and the number of its elements, which is within the
 * bound. */
struct pl_json reader_list(struct reader *reader, struct pl_json object, const char *name,
                           uint32_t *count);
struct pl_span reader_text(struct reader *reader, struct pl_json object,
                           const char *name);
bool reader_bool(struct reader *reader, struct pl_json object, const char *name);
/* 0 when absent. */
int32_t reader_int32(struct reader *reader, struct pl_json object, const char *name);
int64_t reader_int64(struct reader *reader, struct pl_json object, const char *name);
/* RFC 3339, milliseconds since 1970; 0 when absent. */
int64_t reader_time(struct reader *reader, struct pl_json object, const char *name);
/* Whether the member is there and not null. */
bool reader_has(struct pl_json object, const char *name);

struct draft_texts reader_texts(struct reader *reader, struct pl_json object,
                                const char *name);
struct draft_pairs reader_pairs(struct reader *reader, struct pl_json object,
                                const char *name);
struct draft_amounts reader_amounts(struct reader *reader, struct pl_json object,
                                    const char *name);
/* A single quantity; false when absent. */
bool reader_amount(struct reader *reader, struct pl_json object, const char *name,
                   struct pl_quantity *out);

struct draft_requirements reader_requirements(struct reader *reader,
                                              struct pl_json object, const char *name);
struct draft_selector reader_selector(struct reader *reader, struct pl_json object,
                                      const char *name);
/* {"nodeSelectorTerms": [...]} */
struct draft_node_terms reader_node_selector(struct reader *reader, struct pl_json object,
                                             const char *name);
/* {"matchExpressions": [...], "matchFields": [...]} */
struct draft_node_term reader_node_term(struct reader *reader, struct pl_json object);
struct draft_meta reader_meta(struct reader *reader, struct pl_json root);

/* Records a failure and returns its code; the message is in err. */
enum pl_code reader_fail(struct reader *reader, struct pl_json at, enum pl_code code,
                         const char *what);

#endif
