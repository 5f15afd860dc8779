/*
 * A reason says why a pod can not be on a node: a stable code, with kube-scheduler's
 * sentence.
 *
 * A reason is made in a filter, perhaps a million times more often than a person reads
 * one; so it consists of numbers, and its text is made on demand.
 */
#ifndef SHARDSCHED_FRAMEWORK_REASON_H
#define SHARDSCHED_FRAMEWORK_REASON_H

#include "shardsched/model/strings.h"
#include "store/base/buf.h"

/* X(NAME, code, sentence): {s} is the text of subject, {v} that of value, {d} that of
 * detail where it is a string. Codes are for machines and never change; new ones may be
 * added. */
#define REASON_MAP(X)                                                                      \
	X(NONE, "none", "")                                                                \
	X(FAILED, "failed", "the plugin failed: {s}")                                      \
	X(UNSCHEDULABLE, "node.unschedulable", "node(s) were unschedulable")               \
	X(NODE_NAME, "node.name", "node(s) didn't match the requested node name")          \
	X(TAINT, "node.taint", "node(s) had untolerated taint {{s}: {v}}")                 \
	X(AFFINITY, "node.affinity",                                                       \
	  "node(s) didn't match Pod's node affinity/selector")                             \
	X(AFFINITY_ADDED, "node.affinity.enforced",                                        \
	  "node(s) didn't match scheduler-enforced node affinity")                         \
	X(AFFINITY_NAMES, "node.affinity.names", "pod affinity terms conflict")            \
	X(PORTS, "node.ports",                                                             \
	  "node(s) didn't have free ports for the requested pod ports")                    \
	X(FIT_PODS, "fit.pods", "Too many pods")                                           \
	X(FIT_CPU, "fit.cpu", "Insufficient cpu")                                          \
	X(FIT_MEMORY, "fit.memory", "Insufficient memory")                                 \
	X(FIT_STORAGE, "fit.ephemeral-storage", "Insufficient ephemeral-storage")          \
	X(FIT_SCALAR, "fit.scalar", "Insufficient {s}")                                    \
	X(DISK_CONFLICT, "volume.disk", "node(s) had no available disk")                   \
	X(CLAIM_TAKEN, "volume.claim.taken",                                               \
	  "node has pod using PersistentVolumeClaim with the same name and "               \
	  "ReadWriteOncePod access mode")                                                  \
	X(VOLUME_LIMIT, "volume.limit", "node(s) exceed max volume count")                 \
	X(CLAIM_MISSING, "volume.claim.missing",                                           \
	  "persistentvolumeclaim \"{s}\" not found")                                       \
	X(CLAIM_WAITS, "volume.claim.waits",                                               \
	  "waiting for ephemeral volume controller to create the persistentvolumeclaim "   \
	  "\"{s}-{v}\"")                                                                   \
	X(CLAIM_FOREIGN, "volume.claim.foreign",                                           \
	  "PVC {s}/{v}-{d} was not created for pod {s}/{v} (pod is not owner)")            \
	X(CLAIM_LOST, "volume.claim.lost",                                                 \
	  "persistentvolumeclaim \"{s}\" bound to non-existent persistentvolume \"{v}\"")  \
	X(CLAIM_DELETED, "volume.claim.deleted",                                           \
	  "persistentvolumeclaim \"{s}\" is being deleted")                                \
	X(CLAIM_UNBOUND, "volume.claim.unbound",                                           \
	  "pod has unbound immediate PersistentVolumeClaims")                              \
	X(CLAIM_CLASSLESS, "volume.claim.classless",                                       \
	  "PersistentVolumeClaim had no pv name and storageClass name")                    \
	X(VOLUME_MISSING, "volume.missing", "persistentvolume \"{s}\" not found")          \
	X(VOLUME_NAMELESS, "volume.nameless", "PersistentVolume had no name")              \
	X(VOLUME_CLASS_MISSING, "volume.class.missing",                                    \
	  "storageclass.storage.k8s.io \"{s}\" not found")                                 \
	X(VOLUME_GONE, "volume.gone",                                                      \
	  "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")     \
	X(VOLUME_NODE, "volume.node", "node(s) had volume node affinity conflict")         \
	X(VOLUME_NONE, "volume.none",                                                      \
	  "node(s) didn't find available persistent volumes to bind")                      \
	X(VOLUME_SPACE, "volume.space", "node(s) did not have enough free storage")        \
	X(VOLUME_ZONE, "volume.zone", "node(s) had no available volume zone")              \
	X(SPREAD, "spread.skew", "node(s) didn't match pod topology spread constraints")   \
	X(SPREAD_LABEL, "spread.label",                                                    \
	  "node(s) didn't match pod topology spread constraints (missing required label)") \
	X(POD_AFFINITY, "pod.affinity", "node(s) didn't match pod affinity rules")         \
	X(POD_ANTI_AFFINITY, "pod.anti-affinity",                                          \
	  "node(s) didn't match pod anti-affinity rules")                                  \
	X(POD_ANTI_AFFINITY_OTHERS, "pod.anti-affinity.others",                            \
	  "node(s) didn't satisfy existing pods anti-affinity rules")                      \
	X(RULES_FULL, "rules.full",                                                        \
	  "its namespace has as many rules about other pods as can be registered")         \
	X(RULES_MANY, "rules.many",                                                        \
	  "more rules about other pods concern it than fit into a transaction; etcd's "    \
	  "--max-txn-ops can be raised")                                                   \
	X(GANG_INCOMPLETE, "gang.incomplete", "more members of its gang have to come")     \
	X(GANG_ROOM, "gang.room", "there is no room for its gang")                         \
	X(GANG_DISAGREES, "gang.disagrees", "its gang's members contradict each other")    \
	X(GANG_LARGE, "gang.large", "its gang is too large")                               \
	X(GANG_RESERVING, "gang.reserving", "room is being reserved for its gang")         \
	X(GANG_ABORTING, "gang.aborting",                                                  \
	  "room that was reserved for its gang is given back")                             \
	X(GATED, "pod.gated", "waiting for scheduling gates: [{s}]")                       \
	X(NARROWED, "nodes.narrowed", "node(s) didn't satisfy {s}")                        \
	X(OVERRAN, "overran", "the plugin took too long")                                  \
	X(SCORE_RANGE, "score.range", "the plugin gave a score out of range")              \
	X(PERMIT_LATE, "permit.late", "no Permit plugin allowed it in time")

#define REASON_ENUM(name, code, sentence) REASON_##name,
enum reason_code { REASON_MAP(REASON_ENUM) REASON_CODES };

struct reason {
	uint32_t code;    /* enum reason_code */
	uint32_t subject; /* string: a resource, the key of a taint, a claim; 0: none */
	uint32_t value;   /* string; 0: none */
	/* meaning is the plugin's: an effect, the index of a constraint, a string */
	uint32_t detail;
	int64_t lacks; /* how much is missing, in the resource's unit; 0: not an amount */
};

/* The stable code, such as "fit.cpu". */
const char *reason_word(enum reason_code code);
/* The reason with that code; REASON_CODES: there is none. */
enum reason_code reason_of_word(struct pl_span word);
/* Whether the reason is about a claim that is named after its pod: subject and value
 * together are its name (own_name.h). */
static inline bool reason_is_of_own(const struct reason *reason)
{
	return reason->code == REASON_CLAIM_MISSING && reason->value != 0;
}

/* Appends the subject. */
PL_NODISCARD enum pl_code reason_print_subject(const struct strings *strings,
                                               const struct reason *reason,
                                               struct pl_buf *out);
/* Appends the sentence. */
PL_NODISCARD enum pl_code reason_print(const struct strings *strings,
                                       const struct reason *reason, struct pl_buf *out);

/* The answers of a plugin, as kube-scheduler's statuses. */
#define VERDICT_MAP(X)                                                      \
	X(SUCCESS, "Success")                                               \
	X(ERROR, "Error") /* the cycle fails, and the pod is tried again */ \
	X(UNSCHEDULABLE, "Unschedulable")                                   \
	X(UNRESOLVABLE, "UnschedulableAndUnresolvable")                     \
	X(WAIT, "Wait")                                                     \
	X(SKIP, "Skip")

#define VERDICT_ENUM(name, word) VERDICT_##name,
enum verdict_code { VERDICT_MAP(VERDICT_ENUM) VERDICT_CODES };

const char *verdict_word(enum verdict_code code);

enum { VERDICT_REASONS_MAX = 16 };

struct verdict {
	enum verdict_code code;
	int plugin; /* index in the plugin table; -1: the framework itself */
	uint32_t count;
	struct reason reason[VERDICT_REASONS_MAX]; /* more are dropped */
};

void verdict_clear(struct verdict *verdict);
/* Adds a reason. The graver code stays: ERROR above UNRESOLVABLE above UNSCHEDULABLE. */
void verdict_add(struct verdict *verdict, enum verdict_code code,
                 const struct reason *reason);

#endif
