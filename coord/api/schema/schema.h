/*
 * The schema: every type that the API serves, field by field, in one table. Decoding,
 * validation, defaults, merge rules, OpenAPI, `kubectl explain` and protobuf all read it.
 *
 *	resource (group, version, plural, kind) --> type --> fields --> type ...
 *
 * The table is constant data. A field that Placet's decisions use has a description in
 * our own words; all others have name and type only, are kept, and are given back
 * unchanged.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_H
#define COORD_API_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/json.h"
#include "store/base/span.h"

enum schema_kind {
	SCHEMA_OBJECT, /* of field->type */
	SCHEMA_STRING,
	SCHEMA_INT32,
	SCHEMA_INT64,
	SCHEMA_BOOL,
	SCHEMA_DOUBLE,
	SCHEMA_QUANTITY,      /* "500m", or a number */
	SCHEMA_INT_OR_STRING, /* 25, or "25%" */
	SCHEMA_TIME,          /* RFC 3339, whole seconds */
	SCHEMA_MICRO_TIME,    /* RFC 3339 with microseconds */
	SCHEMA_BYTES,         /* base64 */
	SCHEMA_ANY,           /* any JSON: managed fields, raw extensions */
};

enum schema_shape {
	SCHEMA_ONE,
	SCHEMA_LIST,
	SCHEMA_MAP, /* member names are free, values are of the kind */
};

/* How a list, a map or an object is merged. Strategic merge merges every object and map
 * without SCHEMA_NO_PATCH_MERGE; what is said of them here is for server-side apply. */
enum schema_list {
	SCHEMA_ATOMIC,   /* replaced whole: a list, also a map that says so; scalars */
	SCHEMA_BY_KEY,   /* elements by field->keys: strategic merge by the first key,
	                * server-side apply by all of them */
	SCHEMA_AS_SET,   /* scalars, each once */
	SCHEMA_GRANULAR, /* maps and objects: member by member; an object's type may yet
	                  * be atomic (schema_field_atomic) */
};

enum schema_flag {
	/* OpenAPI says so; an absent one is refused. */
	SCHEMA_REQUIRED = 1 << 0,
	/* An update may not change it. */
	SCHEMA_IMMUTABLE = 1 << 1,
	/* Strategic merge: patchStrategy retainKeys. */
	SCHEMA_RETAIN_KEYS = 1 << 2,
	/* Strategic merge replaces the list, or the object, although server-side apply merges
	 * it. */
	SCHEMA_NO_PATCH_MERGE = 1 << 3,
	/* Written through /status only. */
	SCHEMA_STATUS = 1 << 4,
	/* Placet's decisions read it. */
	SCHEMA_USED = 1 << 5,
	/* With REQUIRED: an absent one is accepted. */
	SCHEMA_MAY_LACK = 1 << 6,
	/* An absent one is refused, although OpenAPI says that it is optional. */
	SCHEMA_NEEDED = 1 << 7,
	/* Server-side apply replaces the list, although strategic merge merges it by its
	 * key. */
	SCHEMA_APPLY_WHOLE = 1 << 8,
	/* 0 stands for absent: the default replaces it. */
	SCHEMA_ZERO_ABSENT = 1 << 9,
	/* 0, false and "" differ from absent. In protobuf, those of all other fields mean
	 * nothing. */
	SCHEMA_ZERO_COUNTS = 1 << 10,
};

struct schema_type;

struct schema_field {
	const char *name;
	const struct schema_type *type; /* SCHEMA_OBJECT */
	uint16_t number;                /* in Kubernetes' protobuf messages; 0: in none */
	uint8_t inside; /* number of the message, in the type's own, that has the field in
	                 * protobuf, although JSON has it beside the others; 0: none */
	uint8_t kind, shape, list;
	uint16_t flags;
	const char *keys;           /* SCHEMA_BY_KEY: "name", "containerPort,protocol" */
	const char *normal;         /* default, as JSON; NULL: none */
	const char *const *choices; /* allowed strings, ends with NULL; NULL: any */
	const char *doc;            /* NULL: not described */
};

struct schema_type {
	const char *name;                  /* "io.k8s.api.core.v1.PodSpec" */
	const struct schema_field *fields; /* ends with a name of NULL; never empty */
	const char *doc;
	bool atomic; /* server-side apply owns it whole (selectors, references) */
};

enum schema_verb {
	SCHEMA_CREATE = 1 << 0,
	SCHEMA_GET = 1 << 1,
	SCHEMA_LIST_VERB = 1 << 2,
	SCHEMA_WATCH = 1 << 3,
	SCHEMA_UPDATE = 1 << 4,
	SCHEMA_PATCH = 1 << 5,
	SCHEMA_DELETE = 1 << 6,
	SCHEMA_DELETE_COLLECTION = 1 << 7,
};

enum schema_subresource {
	SCHEMA_SUB_STATUS = 1 << 0,
	SCHEMA_SUB_BINDING = 1 << 1,
	SCHEMA_SUB_EVICTION = 1 << 2,
	SCHEMA_SUB_SCALE = 1 << 3,
	SCHEMA_SUB_LOG = 1 << 4,
	SCHEMA_SUB_EXEC = 1 << 5,
	SCHEMA_SUB_FINALIZE = 1 << 6, /* of a namespace */
};

struct schema_resource {
	const char *group; /* "": core */
	const char *version;
	const char *plural, *singular, *kind;
	const char *const *short_names; /* ends with NULL */
	const char *const *categories;  /* "all"; ends with NULL */
	bool namespaced;
	uint16_t verbs;        /* enum schema_verb */
	uint16_t subresources; /* enum schema_subresource */
	const struct schema_type *type;
};

/* The types of all parts, also of Status, DeleteOptions, Eviction, Binding, Scale, ...:
 * "io.k8s.api.core.v1.PodSpec". NULL: there is none. */
const struct schema_type *schema_type_named(const char *name);
const struct schema_type *const *schema_types(size_t *count);
/* The type of an object that says what it is, also when it is no resource ("policy/v1",
 * "Eviction"). NULL: none that is known. */
const struct schema_type *schema_type_of_kind(struct pl_span api_version,
                                              struct pl_span kind);
/* Whether server-side apply owns the value of the field whole. */
bool schema_field_atomic(const struct schema_field *field);

/* All resources, the groups together, in the order of discovery. */
const struct schema_resource *schema_resources(size_t *count);
/* NULL: not served. group empty: core. */
const struct schema_resource *schema_resource_find(struct pl_span group,
                                                   struct pl_span version,
                                                   struct pl_span plural);
const struct schema_resource *schema_kind_find(struct pl_span api_version,
                                               struct pl_span kind);
const struct schema_field *schema_field_find(const struct schema_type *type,
                                             const char *name);
/* The members of an object by the number of their fields in the type, absent where there is
 * none: one search a member, for code that looks at every field. */
enum { SCHEMA_FIELDS_MAX = 64 };
void schema_members(const struct schema_type *type, struct pl_json object,
                    struct pl_json out[SCHEMA_FIELDS_MAX]);
const struct schema_field *schema_field_find_span(const struct schema_type *type,
                                                  struct pl_span name);
/* "v1", "apps/v1". */
const char *schema_api_version(const struct schema_resource *resource, char out[128]);

#endif
