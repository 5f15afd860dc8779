/*
 * Decoding and checking objects against the table.
 *
 *	text --json_tree_parse--> tree --schema_decode--> known fields of the right types
 *	     --schema_defaults--> whole --schema_check--> valid
 *	     --schema_check_update--> a change that is allowed
 *
 * What decoding refuses is a bad request (400), what a check refuses is an invalid object
 * (422). The checks know what the table says, metadata, and what an update may change;
 * the rules of the scheduler's own fields (shardsched/model, schema_model_words.h) come after
 * them.
 */
#ifndef COORD_API_SCHEMA_SCHEMA_CHECK_H
#define COORD_API_SCHEMA_SCHEMA_CHECK_H

#include "coord/api/schema/schema.h"
#include "coord/api/schema/schema_report.h"
#include "store/base/json_edit.h"

/* The word of fieldValidation: whether unknown and duplicate fields are refused. */
enum schema_strictness { SCHEMA_IGNORE, SCHEMA_WARN, SCHEMA_STRICT };

/* "Strict", "Warn", "Ignore"; empty: Warn. False: another word. */
bool schema_strictness_of(struct pl_span word, enum schema_strictness *out);

/* Makes the tree what Kubernetes would have stored of the object: unknown members and
 * nulls are removed, quantities and times are in their canonical spelling. Unknown fields
 * are in the report, whatever becomes of them: the caller refuses (schema_report_strict),
 * warns, or ignores. PL_INVALID: a value has a wrong type (report->wrong), the tree is
 * half done. PL_NOMEM. */
PL_NODISCARD enum pl_code schema_decode(struct json_tree *tree,
                                        const struct schema_type *type,
                                        struct schema_report *report);

/* Text without the members that the same name replaces later, as most readers take it;
 * the report tells where they were. The text is well-formed JSON but for that; else, and
 * when there are none, *out is text itself. PL_NOMEM. */
PL_NODISCARD enum pl_code schema_drop_duplicates(struct pl_span text,
                                                 struct schema_report *report,
                                                 struct pl_span *out);

/* An object of a resource, whose kind says how metadata is checked. */
struct schema_object {
	const struct schema_resource *resource;
	struct pl_json value; /* decoded, with defaults */
};

/* Adds a cause for each required field that lacks, each word that is no choice, and each
 * fault of the metadata. */
void schema_check(const struct schema_object *object, struct schema_report *report);
/* The same for an object that is no resource, and without metadata. */
void schema_check_type(struct pl_json value, const struct schema_type *type,
                       struct schema_report *report);

/* Adds a cause for each change of old that is not allowed. Both are decoded and have
 * their defaults. */
void schema_check_update(const struct schema_object *object, struct pl_json old,
                         struct schema_report *report);

#endif
