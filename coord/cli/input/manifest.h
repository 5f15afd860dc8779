/*
 * A manifest reads Kubernetes' objects out of files, one after another, as objects.h
 * does, but on request, and with no more than one value of a file in memory (a List is
 * one): so a million objects may be in one file. It can be read again from the start.
 */
#ifndef COORD_CLI_INPUT_MANIFEST_H
#define COORD_CLI_INPUT_MANIFEST_H

#include "coord/cli/input/files.h"
#include "coord/service/input/object_source.h"

struct manifest;

/* Borrows files. Standard input is copied into an unlinked file. */
PL_NODISCARD enum pl_code manifest_open(const struct files *files, struct manifest **out,
                                        struct pl_err *err);
void manifest_close(struct manifest *manifest);

/* PL_OK: *out, borrowed until the next call; PL_NOTFOUND: no more. Any other code:
 * err names the file, the object and the error; the next call goes on with the next
 * file. */
PL_NODISCARD enum pl_code manifest_next(struct manifest *manifest,
                                        struct input_object *out, struct pl_err *err);

/* Begins again with the first object. */
void manifest_rewind(struct manifest *manifest);

/* The manifest as an object source; closing the source closes the manifest. */
struct object_source manifest_source(struct manifest *manifest);

#endif
