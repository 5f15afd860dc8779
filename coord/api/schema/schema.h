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

/* How a list is merged. */
enum schema_list {
	SCHEMA_ATOMIC, /* replaced whole, also a map or object that says so */
	SCHEMA_BY_KEY, /* elements by field->keys: strategic merge by the first key,
	                * server-side apply by all of them */
	SCHEMA_AS_SET, /* scalars, each once */
};

enum schema_flag {
	SCHEMA_REQUIRED = 1 << 0,
	SCHEMA_IMMUTABLE = 1 << 1,      /* an update may not change it */
	SCHEMA_RETAIN_KEYS = 1 << 2,    /* strategic merge: patchStrategy retainKeys */
	SCHEMA_NO_PATCH_MERGE = 1 << 3, /* strategic merge replaces the list although
	                                 * server-side apply merges it */
	SCHEMA_STATUS = 1 << 4,         /* written through /status only */
	SCHEMA_USED = 1 << 5,           /* Placet's decisions read it */
};

struct schema_type;

struct schema_field {
	const char *name;
	const struct schema_type *type; /* SCHEMA_OBJECT */
	uint16_t number;                /* in Kubernetes' protobuf messages */
	uint8_t kind, shape, list;
	uint16_t flags;
	const char *keys;           /* SCHEMA_BY_KEY: "name", "containerPort,protocol" */
	const char *normal;         /* default, as JSON; NULL: none */
	const char *const *choices; /* allowed strings, ends with NULL; NULL: any */
	const char *doc;            /* NULL: not described */
};

struct schema_type {
	const char *name;                  /* "io.k8s.api.core.v1.PodSpec" */
	const struct schema_field *fields; /* ends with a name of NULL */
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

/* The types of other parts: Status, DeleteOptions, Eviction, Binding, Scale, ... */
const struct schema_type *schema_type_named(const char *name);

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
/* "v1", "apps/v1": out has room for 128 bytes. */
const char *schema_api_version(const struct schema_resource *resource, char out[128]);

#endif
