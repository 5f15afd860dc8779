/*
 * A slot: what the schema says of one place in an object, while a walk goes down.
 *
 * A place that the schema does not know is deduced from its value: an object is a map, a
 * list is replaced whole. So an unknown field that an object keeps is merged and owned
 * like a known one.
 *
 * Pure. A slot is a plain value that borrows from the schema.
 */
#ifndef COORD_API_PATCH_SLOT_H
#define COORD_API_PATCH_SLOT_H

#include "coord/api/schema/schema.h"
#include "store/base/json.h"

struct schema_slot {
	const struct schema_type *type;   /* of an object with named fields; NULL: none */
	const struct schema_field *field; /* NULL: the root, or unknown */
	uint8_t shape;                    /* enum schema_shape */
};

/* How server-side apply sees a value. */
enum slot_form {
	SLOT_LEAF,   /* owned whole */
	SLOT_STRUCT, /* named fields */
	SLOT_MAP,    /* members by free names */
	SLOT_KEYED,  /* a list of objects by their keys */
	SLOT_SET,    /* a list of scalars, each once */
};

struct schema_slot slot_root(const struct schema_type *type);
/* The member of an object. *named: the schema has a field of that name. named may be
 * NULL. */
struct schema_slot slot_member(struct schema_slot slot, const char *name, bool *named);
struct schema_slot slot_element(struct schema_slot slot);

/* value is looked at only where the slot is unknown. Absent and null are seen as the
 * schema says, and as a leaf in an unknown place. */
enum slot_form slot_form(struct schema_slot slot, struct pl_json value);

enum { SLOT_KEY_SIZE = 64 };

/* How strategic merge treats a list: as a set of scalars, by a key, or not at all. */
enum slot_merge { SLOT_REPLACED, SLOT_MERGED_SCALARS, SLOT_MERGED_BY_KEY };

/* key: the name of the merge key, for SLOT_MERGED_BY_KEY. */
enum slot_merge slot_merge(struct schema_slot slot, char key[SLOT_KEY_SIZE]);

/* Whether strategic merge replaces an object or map instead of merging it. */
bool slot_replaced(struct schema_slot slot);

/* The name behind position *at of keys ("containerPort,protocol"), copied to key. False:
 * there is none. Start with *at = 0. */
bool slot_next_key(const char *keys, size_t *at, char key[SLOT_KEY_SIZE]);

#endif
