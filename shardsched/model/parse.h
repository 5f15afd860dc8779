/*
 * A parse: from JSON to an object that is kept, by reading, validation where it is
 * wanted, and making.
 *
 *	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
 *
 *	code = claim_parse(&parse, json, &claim, &err);
 *
 * PL_INVALID and PL_LIMIT name the field in err; with errors, all faults are listed
 * there. Without errors the object is taken as it is, and a word without a meaning
 * matches nothing: right for a copy of what was validated before. The arena may be reset
 * afterwards.
 */
#ifndef SHARDSCHED_MODEL_PARSE_H
#define SHARDSCHED_MODEL_PARSE_H

#include "shardsched/model/field_errors.h"
#include "shardsched/model/node.h"
#include "shardsched/model/pod.h"
#include "shardsched/model/pod_draft.h"
#include "shardsched/model/reader.h"
#include "shardsched/model/validate.h"

struct parse {
	struct model *model;
	struct pl_arena *arena;
	struct field_errors *errors; /* NULL: no validation; else initialised by the
				      * parse */
	enum validate_scope scope;   /* of the validation; ignored without errors */
	/* Valid during the parse: */
	struct reader reader;
	struct maker maker;
	struct validate check;
	struct draft_meta meta;
	struct pl_json root;
};

PL_NODISCARD enum pl_code pod_parse(struct parse *parse, struct pl_span json,
                                    struct pod *out, struct pl_err *err);
/* The same of a document that is parsed already, with the limits of an object. */
PL_NODISCARD enum pl_code pod_parse_tree(struct parse *parse, struct pl_json root,
                                         struct pod *out, struct pl_err *err);
/* Only reads and validates, for callers that keep no pod: refuses what pod_parse_tree
 * refuses. The draft lies in the arena; the model is not needed. */
PL_NODISCARD enum pl_code pod_parse_draft(struct parse *parse, struct pl_json root,
                                          struct pod_draft *out, struct pl_err *err);
PL_NODISCARD enum pl_code node_parse(struct parse *parse, struct pl_span json,
                                     struct node *out, struct pl_err *err);

/* For parsers of other objects. Begins the parse: reads root and metadata. */
void parse_begin(struct parse *parse, struct pl_span json, struct pl_err *err);
/* To be called when everything was read. Whether to validate; if so, metadata was
 * validated, and the path is the root. */
bool parse_checks(struct parse *parse, enum validate_name name, bool namespaced);
/* Whether the object is to be made now; the maker is ready then. */
bool parse_makes(struct parse *parse);
/* Ends the parse and returns its code; err is the one given to parse_begin. */
PL_NODISCARD enum pl_code parse_end(struct parse *parse);

#endif
