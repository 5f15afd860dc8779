/*
 * Objects reads Kubernetes' objects out of files: JSON or YAML, one or many, a List, an
 * array, an object a line; plain or gzip; - is stdin, a directory means all its files
 * with objects (files.h).
 */
#ifndef COORD_CLI_INPUT_OBJECTS_H
#define COORD_CLI_INPUT_OBJECTS_H

#include "store/base/err.h"
#include "store/base/span.h"

enum { OBJECTS_BYTES_MAX = 1 << 30 };

/* Gets one object: strict JSON, an object. kind: "Pod"; empty when the object names
 * none. Any result but PL_OK ends the reading, and fn has filled err in. */
typedef enum pl_code objects_fn(void *ctx, struct pl_span kind, struct pl_span json,
                                struct pl_err *err);

/* The text without the byte order mark that some editors put before UTF-8. */
struct pl_span objects_without_bom(struct pl_span text);

/* err names the file and the object. */
PL_NODISCARD enum pl_code objects_read(const char *path, objects_fn *fn, void *ctx,
                                       struct pl_err *err);
/* Reads the objects of a text. */
PL_NODISCARD enum pl_code objects_parse(struct pl_span text, objects_fn *fn, void *ctx,
                                        struct pl_err *err);

#endif
