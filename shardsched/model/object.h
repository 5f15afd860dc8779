/*
 * The JSON text of an object, beside its typed value, so that nothing is lost when the
 * object is written again: unknown fields, the order of members and the spelling of
 * numbers stay, byte for byte, except where a change says otherwise.
 */
#ifndef SHARDSCHED_MODEL_OBJECT_H
#define SHARDSCHED_MODEL_OBJECT_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { OBJECT_DEPTH_MAX = 8, OBJECT_CHANGES_MAX = 32 };

/* A member to change, by the names that lead to it; the first NULL ends the path. */
struct object_change {
	const char *path[OBJECT_DEPTH_MAX + 1];
	const char *json; /* the new value; NULL removes the member */
};

/* Adds to out the object in json with the changes applied. New members come behind the
 * others, and objects on the way to them are made. json is an object that the reader
 * accepts. Of two changes of one member the first counts, and a change inside a replaced
 * value is lost. PL_INVALID: a change leads into a value that is no object. PL_LIMIT,
 * PL_NOMEM. */
PL_NODISCARD enum pl_code object_print(struct pl_span json,
                                       const struct object_change *changes, size_t count,
                                       struct pl_buf *out, struct pl_err *err);

/* Adds to out the JSON without white space between its tokens: the form in which objects
 * are stored, so equal content gives equal bytes. json is valid. */
PL_NODISCARD enum pl_code object_compact(struct pl_span json, struct pl_buf *out);

/* Whether a member's name, as it stands in the text with its quotes, is that name. */
bool object_name_is(struct pl_span quoted, const char *name);

/* The text of that member's value in json; at NULL: the member is absent. */
struct pl_span object_member(struct pl_span json, const char *name);

/* The next member of an object, its name in quotes. *rest is the object's text at first,
 * and the text behind the member afterwards. False: there are no more members. */
bool object_pair(struct pl_span *rest, struct pl_span *name, struct pl_span *value);
/* The same, but *rest then begins with the value, which the caller passes: with
 * object_next, or member by member and then the closing bracket. */
bool object_next_name(struct pl_span *rest, struct pl_span *name);

/* The text of the next element of an array. *rest is the array's text at first, and the
 * text behind the element afterwards. Empty: there are no more elements. */
struct pl_span object_item(struct pl_span *rest);

/* The first value in a text of several values; *rest becomes the text behind it. The end
 * is found by brackets and separators alone, so the value is still to be scanned. Empty:
 * only white space is left. */
struct pl_span object_next(struct pl_span *rest);

#endif
