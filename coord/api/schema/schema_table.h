/*
 * The words in which the table is written. Only the table's own files include this.
 *
 *	FIELDS(core_thing) = {
 *		TYPE_META,
 *		OBJECT_META,
 *		STR(2, "mode", IS(REQUIRED), ONE_OF(choices_mode), DOC("...")),
 *		OBJS(3, core_part, "parts", KEYS("name")),
 *		END};
 *	TYPE(core_thing, CORE_V1 "Thing", "...");
 *
 * A field's word is its kind, with an S for a list and an M for a map. The number is that
 * of the protobuf message; 0: the field is not in the message.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_TABLE_H
#define COORD_API_SCHEMA_SCHEMA_TABLE_H

#include "coord/api/schema/schema_types.h"

#define CORE_V1 "io.k8s.api.core.v1."
#define APPS_V1 "io.k8s.api.apps.v1."
#define BATCH_V1 "io.k8s.api.batch.v1."
#define STORAGE_V1 "io.k8s.api.storage.v1."
#define POLICY_V1 "io.k8s.api.policy.v1."
#define SCHEDULING_V1 "io.k8s.api.scheduling.v1."
#define COORDINATION_V1 "io.k8s.api.coordination.v1."
#define EVENTS_V1 "io.k8s.api.events.v1."
#define AUTOSCALING_V1 "io.k8s.api.autoscaling.v1."
#define META_V1 "io.k8s.apimachinery.pkg.apis.meta.v1."
#define PLACET_V1 "io.placet.v1."

enum {
	REQUIRED = SCHEMA_REQUIRED,
	IMMUTABLE = SCHEMA_IMMUTABLE,
	RETAIN_KEYS = SCHEMA_RETAIN_KEYS,
	NO_PATCH_MERGE = SCHEMA_NO_PATCH_MERGE,
	STATUS = SCHEMA_STATUS,
	USED = SCHEMA_USED,
	MAY_LACK = SCHEMA_MAY_LACK,
	NEEDED = SCHEMA_NEEDED,
	APPLY_WHOLE = SCHEMA_APPLY_WHOLE,
	ZERO_ABSENT = SCHEMA_ZERO_ABSENT,
	ZERO_COUNTS = SCHEMA_ZERO_COUNTS,
};

/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields, parts of initialisers */
#define FIELDS(word) static const struct schema_field word##_fields[]
#define END                  \
	{                    \
		.name = NULL \
	}
#define TYPE(word, full_name, words) \
	const struct schema_type schema_##word = {full_name, word##_fields, words, false}
#define ATOMIC_TYPE(word, full_name, words) \
	const struct schema_type schema_##word = {full_name, word##_fields, words, true}
#define CHOICES(word, ...) static const char *const word[] = {__VA_ARGS__, NULL}

/* Options of a field. */
#define IS(set) .flags = (set)
#define KEYS(names) .list = SCHEMA_BY_KEY, .keys = names
#define AS_SET .list = SCHEMA_AS_SET
#define INSIDE(outer) .inside = outer
#define NORMAL(json) .normal = json
#define ONE_OF(list) .choices = list
#define DOC(words) .doc = words

#define FIELD(of, as, number_, ...)                                           \
	{                                                                     \
		.kind = SCHEMA_##of, .shape = SCHEMA_##as, .number = number_, \
		.name = __VA_ARGS__                                           \
	}
#define STR(number_, ...) FIELD(STRING, ONE, number_, __VA_ARGS__)
#define STRS(number_, ...) FIELD(STRING, LIST, number_, __VA_ARGS__)
#define STRM(number_, ...) \
	FIELD(STRING, MAP, number_, __VA_ARGS__, .list = SCHEMA_GRANULAR)
#define STRM_ATOMIC(number_, ...) FIELD(STRING, MAP, number_, __VA_ARGS__)
#define I32(number_, ...) FIELD(INT32, ONE, number_, __VA_ARGS__)
#define I32S(number_, ...) FIELD(INT32, LIST, number_, __VA_ARGS__)
#define I64(number_, ...) FIELD(INT64, ONE, number_, __VA_ARGS__)
#define I64S(number_, ...) FIELD(INT64, LIST, number_, __VA_ARGS__)
#define BOOL(number_, ...) FIELD(BOOL, ONE, number_, __VA_ARGS__)
#define DBL(number_, ...) FIELD(DOUBLE, ONE, number_, __VA_ARGS__)
#define QTY(number_, ...) FIELD(QUANTITY, ONE, number_, __VA_ARGS__)
#define QTYM(number_, ...) \
	FIELD(QUANTITY, MAP, number_, __VA_ARGS__, .list = SCHEMA_GRANULAR)
#define INT_STR(number_, ...) FIELD(INT_OR_STRING, ONE, number_, __VA_ARGS__)
#define TIME(number_, ...) FIELD(TIME, ONE, number_, __VA_ARGS__)
#define TIMEM(number_, ...) \
	FIELD(TIME, MAP, number_, __VA_ARGS__, .list = SCHEMA_GRANULAR)
#define MTIME(number_, ...) FIELD(MICRO_TIME, ONE, number_, __VA_ARGS__)
#define BYTESM(number_, ...) \
	FIELD(BYTES, MAP, number_, __VA_ARGS__, .list = SCHEMA_GRANULAR)
#define ANY(number_, ...) FIELD(ANY, ONE, number_, __VA_ARGS__)
#define ANYS(number_, ...) FIELD(ANY, LIST, number_, __VA_ARGS__)
#define ANY_OBJECT(number_, ...) \
	FIELD(ANY, MAP, number_, __VA_ARGS__, .list = SCHEMA_GRANULAR)
#define OBJ(number_, word, ...)                                          \
	FIELD(OBJECT, ONE, number_, __VA_ARGS__, .type = &schema_##word, \
	      .list = SCHEMA_GRANULAR)
#define OBJS(number_, word, ...) \
	FIELD(OBJECT, LIST, number_, __VA_ARGS__, .type = &schema_##word)

#define TYPE_META                                                             \
	STR(0, "apiVersion", DOC("Group and version of the object's type.")), \
		STR(0, "kind", DOC("Name of the object's type."))
#define OBJECT_META                          \
	OBJ(1, meta_object_meta, "metadata", \
	    DOC("Name, labels and bookkeeping of the object."))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
