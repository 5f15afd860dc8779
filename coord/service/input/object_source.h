/*
 * An object source: Kubernetes' objects one after another, from wherever they come (files
 * of a command line, the body of a request), as often as wanted.
 */
#ifndef COORD_SERVICE_INPUT_OBJECT_SOURCE_H
#define COORD_SERVICE_INPUT_OBJECT_SOURCE_H

#include "store/base/err.h"
#include "store/base/span.h"

struct input_object {
	const char *file;     /* where it stands, for people */
	unsigned long number; /* in that file, from 1 */
	struct pl_span json;  /* strict, scanned, an object */
};

struct object_source {
	/* PL_OK: *out, borrowed until the next call. PL_NOTFOUND: no more. Any other
	 * code: err names the file and the error; the next call goes on after it. */
	enum pl_code (*next)(void *ctx, struct input_object *out, struct pl_err *err);
	void (*rewind)(void *ctx); /* to the first object */
	void (*close)(void *ctx);  /* the last call; may be NULL */
	void *ctx;
};

/* The string that a member of the object is, as "Pod" of kind; empty when it is absent,
 * no string, escaped or longer than a kind can be. */
struct pl_span input_object_string(struct pl_span json, const char *name);

#endif
