/*
 * Kubernetes' objects out of files, as people have them: JSON or YAML, one or many,
 * a List, an array, an object a line; plain or gzip; - is stdin, a directory all its
 * files with objects (files.h).
 */
#ifndef COORD_CLI_INPUT_OBJECTS_H
#define COORD_CLI_INPUT_OBJECTS_H

#include "store/base/err.h"
#include "store/base/span.h"

enum { OBJECTS_BYTES_MAX = 1 << 30 };

/* One object: strict JSON, an object. kind: "Pod"; empty when it says none. What is not
 * PL_OK ends the reading; fn fills err in then. */
typedef enum pl_code objects_fn(void *ctx, struct pl_span kind, struct pl_span json,
                                struct pl_err *err);

/* Without the mark of byte order that some editors put in front of UTF-8. */
struct pl_span objects_without_bom(struct pl_span text);

/* err says which file and which of its objects. */
PL_NODISCARD enum pl_code objects_read(const char *path, objects_fn *fn, void *ctx,
                                       struct pl_err *err);
/* The same of a text. */
PL_NODISCARD enum pl_code objects_parse(struct pl_span text, objects_fn *fn, void *ctx,
                                        struct pl_err *err);

#endif
