/*
 * A change of an object: from a body or a patch to what is written.
 *
 *	body --decode--> wanted --defaults--> checks --admission--> commit --> answer
 *	                    ^                                        |
 *	current --patch-----'           changed meanwhile: again ----'
 *
 * Invariants:
 *  - What is written is compared with what the change was made from (current).
 *  - A change without a resourceVersion is made again from the newer object; one with a
 *    resourceVersion is refused when that is not the current one.
 *  - A dry run goes the same way up to the commit.
 */
#ifndef COORD_API_VERBS_CHANGE_H
#define COORD_API_VERBS_CHANGE_H

#include "coord/api/patch/apply.h"
#include "coord/api/schema/schema_check.h"
#include "coord/api/verbs/event_store.h"
#include "coord/api/verbs/pod_change_queue.h"
#include "coord/api/verbs/request.h"
#include "coord/config/config.h"
#include "coord/service/budgets/budget_edit.h"
#include "coord/service/submit/pod_request.h"
#include "store/keys/keys.h"

enum change_kind { CHANGE_CREATE, CHANGE_UPDATE, CHANGE_DELETE };

enum { CHANGE_UID_SIZE = 37, CHANGE_TIME_SIZE = 25 };

struct change {
	struct request *request;
	enum change_kind kind;
	enum source_kind source;
	enum body_format format;
	unsigned tries;
	unsigned names;     /* that were generated for it; 0: the client gave one */
	bool sure;          /* current is as new as a linearizable read's */
	bool objects_fresh; /* the informer of namespaces and classes was waited for */
	bool ends;          /* an update that takes the last finalizer away */
	bool dry_run, is_status, is_scale;
	bool evicts, asked;      /* of a deletion */
	struct json_tree patch;  /* the body of an update */
	struct json_tree scaled; /* the changes that a Scale makes to the workload */
	struct json_tree wanted; /* the object as the API shows it */
	struct pl_span stored;   /* as it is written */
	/* The object that the change is made from; empty for a creation. Entries are
	 * referenced. */
	struct object current;
	int64_t wanted_revision; /* resourceVersion of the body; 0: any */
	struct schema_report *report;
	struct keys_text key;

	/* Pods. */
	struct builder_pod pod;
	uint32_t named;
	enum pod_request_outcome outcome;
	struct pending_change pending;
	int64_t grace_s;    /* of a deletion; -1: not said */
	struct pl_span uid; /* precondition of a deletion; empty: none */
	const char *why;    /* the reason why an eviction is withheld; in the arena */

	/* Nodes. */
	struct builder_node node;
	struct pl_span node_alloc;
	int64_t alloc_rev;
	struct kv_call *call;

	int64_t lease; /* events; 0: none */
	struct event_lease_wait lease_wait;
	enum config_name config; /* that is edited */
	unsigned companions;
	struct pl_span companion[2]; /* values of objects that come with a namespace */
	struct keys_text companion_key[2];
	/* After the commit; NULL: the object is answered. */
	void (*committed)(struct change *change, int64_t revision);
	/* Makes the change again from the newer object and commits it. False: it cannot.
	 * NULL: a change of this kind is not made again. */
	bool (*again)(struct change *change);
};

/* -- body.c ----------------------------------------------------------------------------- */

/* The body as a tree; YAML and protobuf are converted. False: it has been answered. type:
 * of the body. */
bool body_read(struct request *request, const struct schema_type *type,
               struct json_tree *out);
/* The body of a subresource is of that kind, or says none, and is about the object of the
 * path. False: it has been answered. */
bool body_is_of(struct request *request, const struct json_tree *tree, const char *kind);
/* Decodes the tree by the table. False: it has been answered. */
bool body_decode(struct request *request, struct json_tree *tree,
                 const struct schema_type *type, struct schema_report *report);
bool body_strictness(struct request *request, enum schema_strictness *out);
/* Adds a Warning header. */
void request_warn(struct request *request, struct pl_span text);

/* -- object_meta.c ------------------------------------------------------------------------ */

/* metadata of the tree's root, an object in any case; NULL: no memory. */
struct cJSON *wanted_meta(struct change *change);
/* The string, or an empty span. */
struct pl_span meta_text(const struct cJSON *object, const char *name);
bool meta_set(struct change *change, struct cJSON *object, const char *name,
              struct pl_span text);
void object_new_uid(struct api *api, char out[CHANGE_UID_SIZE]);
void new_uid(struct change *change, char out[CHANGE_UID_SIZE]);
void time_now(struct change *change, char out[CHANGE_TIME_SIZE]);
void api_time_now(const struct api *api, char out[CHANGE_TIME_SIZE]);
/* Name, namespace, uid, creationTimestamp, generation of a new object. False: it has been
 * answered. */
bool meta_of_new(struct change *change);
/* The same of one that is changed: what clients may not change is as it was. */
bool meta_of_changed(struct change *change);
/* Gives a new object, whose name is taken, another generated name. False: its name was not
 * generated, or too many were tried. */
bool meta_another_name(struct change *change);

/* -- managers.c ---------------------------------------------------------------------------- */

/* The manager that writes, by the query or the user agent. */
struct field_writer change_writer(struct change *change);
/* Notes in the wanted object's managedFields what the change from old (absent: none) has
 * written. False: it has been answered. */
bool change_note_managers(struct change *change, struct pl_json old);
/* Server-side apply: the wanted object from the configuration in change->patch and live
 * (absent: it is created). False: it has been answered. */
bool change_apply(struct change *change, struct pl_json live);

/* -- admission.c -------------------------------------------------------------------------- */

/* Does what Kubernetes' API server does with objects of a kind before they are stored. False:
 * it has been answered. */
bool admit(struct change *change);
/* The rules of the scheduler's fields, after the schema's. */
bool admit_checked(struct change *change);
bool is_namespace(const struct request *request);
/* A creation waits once for the newest namespaces and classes, and is admitted again.
 * False: it has waited before. */
bool admission_wait(struct change *change);

/* placet_change.c */
void commit_config(struct change *change);
void commit_shard(struct change *change);
void commit_token(struct change *change); /* of a deletion */

/* event_change.c */
bool is_event(const struct request *request);
bool event_admit_checked(struct change *change);
/* Gives the wanted event, in a copy if need be, the form in which it is stored. False: no
 * memory. */
bool event_stored_form(struct change *change, struct json_tree *out);
/* Writes the change of an event once there is a lease for it. */
void event_commit(struct change *change);
/* The request wants to change or delete an event that follows from a pod's state: it has been
 * answered. */
bool event_refuse_derived(struct request *request);

/* -- commit.c ----------------------------------------------------------------------------- */

/* Prints what is stored, and commits; committed, or an answer, follows. */
void change_commit(struct change *change);
/* The object as it will be, with that revision, in the shape that the client wants. */
void change_answer(struct change *change, int http_status, int64_t revision);
void change_show(struct change *change, int http_status, const struct object *object);
void change_drop(struct change *change);
/* Hands request->write over to the queue. */
void change_enqueue(struct change *change);
bool object_key(const struct schema_resource *resource, struct pl_span namespace,
                struct pl_span name, struct keys_text *out);
/* pod_strip.c */

/* Whether the current object has the member itself, so that it is not only shown. */
bool change_stores(const struct change *change, const char *outer, const char *inner);
/* Takes from the wanted pod what is only shown. False: no memory. */
bool pod_strip(struct change *change);

/* pod_change.c */
bool pod_admit(struct change *change);
bool pod_admit_checked(struct change *change);
void commit_pod_edit(struct change *change);
/* NULL: no memory, and it has been answered. */
struct change *change_new(struct request *request, enum change_kind kind);
/* Takes references of the entries. */
void change_set_current(struct change *change, const struct object *current);
/* The client may have seen what the informer has not yet. True: fresh is called when the
 * informer has come that far; false: it had already, so what it shows holds. */
bool change_not_sure(struct change *change, void (*fresh)(struct request *request));
/* Answers that another writer was first. */
void change_conflict(struct change *change);
void change_invalid(struct change *change); /* answers with the report's causes */

/* -- create.c: the steps of every change ------------------------------------------------ */

/* From the wanted object to the commit. */
void create_wanted(struct change *change);
/* From the admission on; again when what it has looked at is newer. */
void create_admitted(struct request *request);
bool bulk_is_list(const struct change *change);
/* False: it has been answered. */
bool bulk_create(struct change *change);
/* Each is false when it has been answered. */
bool change_decode(struct change *change);
bool change_default(struct change *change);
bool change_check(struct change *change, struct pl_json old);

/* -- scale.c ------------------------------------------------------------------------------ */

void answer_scale(struct request *request, int http_status, const struct object *object);
/* Makes change->scaled of the body. False: it has been answered. */
bool scale_to_patch(struct change *change);

/* -- pods and namespaces ------------------------------------------------------------------ */

void commit_pod_delete(struct change *change);
/* Kind and words of DeleteOptions. False: it has been answered. */
bool delete_options_check(struct request *request, struct cJSON *options);
/* Grace and preconditions of DeleteOptions. False: it has been answered. */
bool delete_options_read(struct change *change, struct cJSON *options);
void request_bind(struct request *request);
void request_evict(struct request *request);
/* Marks the namespace as going; namespace_empty.h does the rest. */
void namespace_terminate(struct change *change);

#endif
