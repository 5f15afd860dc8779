/* Text that is put together from pieces of JSON. Internal to coord/api/objects. */
#ifndef COORD_API_OBJECTS_OBJECT_WRITER_H
#define COORD_API_OBJECTS_OBJECT_WRITER_H

#include "coord/api/objects/object.h"
#include "shardsched/expand/stable_uid.h"

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

/* The uid that is stored; else uid, a JSON string (of a pod: its state's); else one that
 * stays the same as long as the object lives. */
void object_uid(const struct object *object, struct pl_span uid, char out[UID_SIZE]);
/* "2026-11-21T09:00:00.000Z" without the fraction, as Kubernetes writes times. */
void object_put_time(struct object_writer *writer, struct pl_span json);

/* pod_event.c */
void object_write_pod_event(struct object_writer *writer, const struct object *object);
/* event_object.c: an Event that is stored, in the form of the object's resource. */
void object_write_event(struct object_writer *writer, const struct object *object);
/* placet_object.c: what Kubernetes has no word for. */
void object_write_placet(struct object_writer *writer, const struct object *object);

/* pod_object.c */
void object_write_pod(struct object_writer *writer, const struct object *object);
struct pl_span object_pod_field(const struct object *object, struct pl_span path,
                                char out[MEMBER_NAME_SIZE]);

#endif
