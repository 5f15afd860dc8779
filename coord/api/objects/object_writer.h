/* Text that is put together from pieces of JSON. Internal to coord/api/objects. */
#ifndef COORD_API_OBJECTS_OBJECT_WRITER_H
#define COORD_API_OBJECTS_OBJECT_WRITER_H

#include "coord/api/objects/object.h"

/* The first failure sticks. */
struct object_writer {
	struct pl_buf *buf;
	enum pl_code code;
	bool some; /* the object that is being written has a member already */
};

void object_put(struct object_writer *writer, struct pl_span text);
void object_put_str(struct object_writer *writer, const char *text);
/* A quoted string; bytes that JSON does not take as they are, are escaped. */
void object_put_string(struct object_writer *writer, struct pl_span text);
/* {, and } of an object; members between them get their commas. */
void object_open(struct object_writer *writer);
void object_close(struct object_writer *writer);
/* ,"name": */
void object_name(struct object_writer *writer, const char *name);
void object_member_raw(struct object_writer *writer, const char *name,
                       struct pl_span json);
void object_member_string(struct object_writer *writer, const char *name,
                          struct pl_span text);
/* All members of a JSON object, as they are written there. */
void object_put_inner(struct object_writer *writer, struct pl_span json);
/* All members of a JSON object but those named (ends with NULL). */
void object_members_but(struct object_writer *writer, struct pl_span json,
                        const char *const *but);
/* metadata: what is stored, with the object's own names, uid and version. extra (may be
 * NULL) adds further members. */
void object_put_metadata(struct object_writer *writer, const struct object *object,
                         void (*extra)(struct object_writer *writer, const void *ctx),
                         const void *ctx, struct pl_span uid);

/* pod_object.c */
void object_write_pod(struct object_writer *writer, const struct object *object);
struct pl_span object_pod_field(const struct object *object, struct pl_span path,
                                char out[MEMBER_NAME_SIZE]);

#endif
