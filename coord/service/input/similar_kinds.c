#include "coord/service/input/similar_kinds.h"

#include <string.h>
#include <strings.h>

#include "coord/service/input/object_source.h"
#include "shardsched/model/object.h"

static const struct known {
	const char *kind, *group;
} known[] = {
#define KNOWN(source, kind, group) {kind, group},
	EXPAND_SOURCE_MAP(KNOWN)};

enum { KNOWN_COUNT = sizeof known / sizeof known[0] };

static bool equals_ignoring_case(struct pl_span a, const char *b)
{
	return a.len == strlen(b) && strncasecmp((const char *)a.at, b, a.len) == 0;
}

static bool has_suffix(struct pl_span text, struct pl_span end)
{
	return text.len >= end.len &&
	       pl_span_eq(pl_span(text.at + text.len - end.len, end.len), end);
}

/* The part before the slash: empty for "v1". */
static struct pl_span group_of(struct pl_span version)
{
	const uint8_t *slash =
		version.len == 0 ? NULL : memchr(version.at, '/', version.len);

	return pl_span(version.at, slash == NULL ? 0 : (size_t)(slash - version.at));
}

/* Kubernetes' own have no dot in them, or its domain. */
static bool is_foreign_group(struct pl_span group)
{
	return group.len > 0 && memchr(group.at, '.', group.len) != NULL &&
	       !has_suffix(group, PL_SPAN_LIT(".k8s.io"));
}

/* v1 and what preceded it; versions to come are not known. */
static bool is_known_version(struct pl_span version)
{
	size_t group = group_of(version).len;
	struct pl_span is =
		group == 0 ? version
			   : pl_span(version.at + group + 1, version.len - group - 1);

	return version.len == 0 || pl_span_eq(is, PL_SPAN_LIT("v1")) ||
	       pl_span_starts(is, PL_SPAN_LIT("v1beta")) ||
	       pl_span_starts(is, PL_SPAN_LIT("v1alpha"));
}

static enum pl_code refuse_version(struct pl_span version, const struct known *is,
                                   struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID,
	                  "apiVersion: " PL_SPAN_FMT " is none of a %s: want %s%sv1",
	                  PL_SPAN_ARG(version), is->kind, is->group,
	                  is->group[0] == 0 ? "" : "/");
}

enum pl_code similar_kinds_check(struct pl_span json, enum expand_source source,
                                 struct pl_err *err)
{
	struct pl_span version = input_object_string(json, "apiVersion"), kind, items;

	if (source != EXPAND_NOTHING)
		return is_known_version(version)
		               ? PL_OK
		               : refuse_version(version, &known[source], err);
	if (is_foreign_group(group_of(version)))
		return PL_OK;
	kind = input_object_string(json, "kind");
	for (unsigned i = 0; i < KNOWN_COUNT; i++) {
		if (pl_span_eq(kind, pl_span_str(known[i].kind)))
			return refuse_version(version, &known[i], err);
		if (equals_ignoring_case(kind, known[i].kind))
			return pl_err_set(err, PL_INVALID,
			                  "kind: want %s, this is " PL_SPAN_FMT,
			                  known[i].kind, PL_SPAN_ARG(kind));
	}
	items = object_member(json, "items");
	if (kind.len >= 4 && items.len > 0 && items.at[0] == '[' &&
	    equals_ignoring_case(pl_span(kind.at + kind.len - 4, 4), "List"))
		return pl_err_set(err, PL_INVALID,
		                  "kind: a list's ends in List, this is " PL_SPAN_FMT,
		                  PL_SPAN_ARG(kind));
	return PL_OK;
}
