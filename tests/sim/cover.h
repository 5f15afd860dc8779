/*
 * Counts what a run has seen, so that no run passes by having tried nothing. Printed at
 * the end, and shared between the processes that run seeds.
 */
#ifndef TESTS_SIM_COVER_H
#define TESTS_SIM_COVER_H

#include <stdint.h>
#include <stdio.h>

/* X(name, text, wanted). wanted: a long mixed run must have seen it. */
#define COVER_MAP(X)                                                              \
	X(PAUSE, "pauses", 1)                                                     \
	X(PAUSE_LONG, "pauses beyond the TTL", 1)                                 \
	X(SUSPEND, "suspended machines", 1)                                       \
	X(CRASH, "crashes", 1)                                                    \
	X(RESTART, "restarts with the same id", 1)                                \
	X(RESTART_NEW, "restarts with another id", 1)                             \
	X(TWIN, "second processes with an id in use", 1)                          \
	X(LEAVE, "graceful ends", 1)                                              \
	X(CUT, "cuts", 1)                                                         \
	X(CUT_ONE_WAY, "cuts of one way only", 1)                                 \
	X(LEFT_BEHIND, "cuts after which history is compacted", 1)                \
	X(BREAK, "broken connections", 1)                                         \
	X(DRIFT, "drifting clocks", 1)                                            \
	X(JUMP, "clock jumps", 1)                                                 \
	X(WALL, "wall clocks set wrong, or right again", 1)                       \
	X(WALL_APART, "states written by clocks a minute apart or more", 1)       \
	X(LEADER_LOSS, "leaders lost", 1)                                         \
	X(SLOW, "slow stores", 1)                                                 \
	X(FULL, "full stores", 1)                                                 \
	X(COMPACT, "compactions at the newest revision", 1)                       \
	X(RESTORE, "restored snapshots", 1)                                       \
	X(RESTORE_PLACED, "of these, that undid placements", 1)                   \
	X(INCARNATION, "incarnations rewritten", 1)                               \
	X(EVICT, "leases revoked by operators", 1)                                \
	X(DRAIN, "drains and undrains", 1)                                        \
	X(CONFIG_GOOD, "configurations written", 1)                               \
	X(CONFIG_BAD, "bad configurations by hand", 1)                            \
	X(MANUAL_DELETE, "owner keys deleted by hand", 1)                         \
	X(MANUAL_CORRUPT, "owner keys corrupted by hand", 1)                      \
	X(PIN, "pins", 1)                                                         \
	X(LOST_REQUEST, "requests lost", 1)                                       \
	X(LOST_ANSWER, "answers lost", 1)                                         \
	X(LATE, "requests that came too late", 1)                                 \
	X(HELD, "messages held by cuts", 1)                                       \
	X(UNKNOWN, "writes with an unknown outcome", 1)                           \
	X(UNANSWERED_COMMITTED, "transactions committed, without an answer", 1)   \
	X(UNANSWERED_FAILED, "transactions failed, without an answer", 1)         \
	X(REWOUND, "rewinds noticed by clients", 1)                               \
	X(BUSY, "starts refused for want of room", 1)                             \
	X(OWN, "partitions taken", 1)                                             \
	X(QUIESCE, "hand-overs begun", 1)                                         \
	X(HANDED_OVER, "partitions handed over", 1)                               \
	X(LOST_GONE, "partitions lost: key gone", 1)                              \
	X(LOST_SESSION, "partitions lost: session down", 1)                       \
	X(LOST_FENCED, "partitions lost: fenced", 1)                              \
	X(LOST_REWOUND, "partitions lost: rewound", 1)                            \
	X(QUIET_LATE, "hand-overs whose work ended late or never", 1)             \
	X(DECIDE, "decisions", 1)                                                 \
	X(WRITE, "writes applied", 1)                                             \
	X(FENCED, "writes fenced by the store", 1)                                \
	X(BARRED, "writes barred before they were sent", 1)                       \
	X(DOUBT, "sessions in doubt", 1)                                          \
	X(DOWN, "sessions down", 1)                                               \
	X(REFUSED, "shards refused: id in use", 1)                                \
	X(MALFORMED, "malformed keys reported", 1)                                \
	X(CONFIG_APPLIED, "configurations applied", 1)                            \
	X(CONFIG_REFUSED, "configurations refused", 1)                            \
	X(LEAD, "roles taken", 1)                                                 \
	X(BALANCED, "tables of weights written", 1)                               \
	X(COMPACTED, "compactions by the janitor", 1)                             \
	X(SWEPT, "keys removed by the janitor", 1)                                \
	X(CONVERGED, "times converged", 1)                                        \
	X(OPENED, "partitions whose pods are placed", 1)                          \
	X(TAKEN_WAITING, "partitions taken whose pods wait", 1)                   \
	X(FEED_LOST, "lists of a partition made again", 1)                        \
	X(DECIDED, "decisions that found a node", 1)                              \
	X(PLACED, "placements that stand", 1)                                     \
	X(CONFLICT, "placements decided again after a conflict", 1)               \
	X(ECHO, "echoes of own commits", 1)                                       \
	X(TXN_FAILED, "commits that a compare refused", 1)                        \
	X(TXN_UNKNOWN, "commits with an unknown outcome", 1)                      \
	X(TXN_FENCED, "commits fenced", 1)                                        \
	X(BOUND_BASIC, "pods bound: basic", 1)                                    \
	X(BOUND_NODEAFFINITY, "pods bound: node affinity", 1)                     \
	X(BOUND_SELECTOR, "pods bound: node selector", 1)                         \
	X(BOUND_TOLERATES, "pods bound: tolerations", 1)                          \
	X(BOUND_PORT, "pods bound: host ports", 1)                                \
	X(BOUND_SPREAD_ZONE, "pods bound: zone spread", 1)                        \
	X(BOUND_SPREAD_HOST, "pods bound: host spread", 1)                        \
	X(BOUND_AFFINITY, "pods bound: zone affinity", 1)                         \
	X(BOUND_ANTI_HOST, "pods bound: host anti-affinity", 1)                   \
	X(BOUND_ANTI_ZONE, "pods bound: zone anti-affinity", 1)                   \
	X(BOUND_STATEFUL, "pods bound: statefulsets", 1)                          \
	X(BOUND_GANG, "pods bound: gangs", 1)                                     \
	X(BOUND_FILL, "pods bound: low priority", 1)                              \
	X(BOUND_HIGH, "pods bound: high priority", 1)                             \
	X(BOUND_MAINTENANCE, "pods bound: tolerating maintenance", 1)             \
	X(BOUND_APART_SPREAD, "pods bound: zone spread over controllers", 1)      \
	X(BOUND_APART_AFFINITY, "pods bound: zone affinity over controllers", 1)  \
	X(BOUND_APART_ANTI, "pods bound: zone anti-affinity over controllers", 1) \
	X(BOUND_LARGE, "pods bound: large gangs", 1)                              \
	X(LARGE_RESERVING, "large gangs with reservations", 1)                    \
	X(LARGE_BOUND, "large gangs bound", 1)                                    \
	X(DOMAIN_JOINED, "members of gangs placed in the others' zone", 1)        \
	X(LARGE_RULED, "of these, with rules about pods on other nodes", 1)       \
	X(LARGE_PLACED, "of large gangs, all their pods", 1)                      \
	X(LARGE_ABORTED, "large gangs aborted", 1)                                \
	X(LARGE_RELEASED, "of these, all reservations released", 1)               \
	X(LARGE_LATE, "large gangs aborted after their time", 1)                  \
	X(LARGE_NODE, "nodes changed with reservations of a gang", 1)             \
	X(KILLED_RESERVING, "owners killed while a gang is reserving", 1)         \
	X(KILLED_BOUND, "owners killed while a gang is bound", 1)                 \
	X(KILLED_ABORTING, "owners killed while a gang is aborting", 1)           \
	X(TAKEOVER_RESERVING, "reserving gangs aborted or bound by another", 1)   \
	X(TAKEOVER_BOUND, "bound gangs finished by another", 1)                   \
	X(TAKEOVER_ABORTING, "aborting gangs finished by another", 1)             \
	X(CORRUPT_GANG, "gangs' records corrupted by hand", 1)                    \
	X(BUDGET_MADE, "budgets made", 1)                                         \
	X(BUDGET_CHANGED, "budgets changed", 1)                                   \
	X(BUDGET_DELETED, "budgets deleted", 1)                                   \
	X(BUDGET_ASKED, "budgets lowered by evictions", 1)                        \
	X(BUDGET_WITHHELD, "evictions that a budget did not allow", 1)            \
	X(BUDGET_PREEMPTED, "budgets lowered by preemption", 1)                   \
	X(BUDGET_OVERDRAWN, "budgets overdrawn", 1)                               \
	X(BUDGET_LAST, "budgets with nothing left to take", 1)                    \
	X(BUDGET_RAISED, "budgets that allow more again", 1)                      \
	X(BUDGET_NOTE_GONE, "notes of budgets removed", 1)                        \
	X(SUBMITTED, "pods submitted", 1)                                         \
	X(SUBMITTED_AGAIN, "pods submitted that were there", 1)                   \
	X(EDITED, "waiting pods edited", 1)                                       \
	X(EDITED_NOTE, "pods edited in a way that no decision reads", 1)          \
	X(EDITED_LABELS, "labels of placed pods edited", 1)                       \
	X(EDIT_REFUSED, "edits of pods that had changed", 1)                      \
	X(REMOVED, "waiting pods removed", 1)                                     \
	X(ROLLOUT, "rollouts of a row of pods", 1)                                \
	X(RELABELLED_POD, "pods bound again with other labels", 1)                \
	X(TERMINATING, "placed pods asked to end", 1)                             \
	X(ASKED_EVICT, "placed pods asked to move", 1)                            \
	X(SAID_ENDED, "pods reported as ended", 1)                                \
	X(LEFT, "places given back", 1)                                           \
	X(NODE_CREATED, "nodes created", 1)                                       \
	X(NODE_CHANGED, "nodes changed", 1)                                       \
	X(NODE_DELETED, "nodes deleted", 1)                                       \
	X(RELABELLED, "nodes moved to another zone", 1)                           \
	X(CLOSED, "nodes closed for maintenance", 1)                              \
	X(OPENED_AGAIN, "nodes open again", 1)                                    \
	X(DRAINED_NODE, "nodes drained until they were empty", 1)                 \
	X(MOVED_TAINT, "pods evicted because their node is closed", 1)            \
	X(MOVED_TAINT_LATE, "of these, after a toleration in seconds", 1)         \
	X(MOVED_PREEMPTED, "pods preempted", 1)                                   \
	X(CLIENT_CRASH, "clients that died half-way", 1)                          \
	X(CLIENT_CRASH_BUSY, "of these, with transactions under way", 1)          \
	X(NODE_REFUSED, "changes of nodes refused", 1)                            \
	X(CORRUPT_ALLOC, "allocs corrupted by hand", 1)                           \
	X(CORRUPT_STATE, "states corrupted by hand", 1)                           \
	X(CORRUPT_SPEC, "specs corrupted by hand", 1)                             \
	X(CORRUPT_RULES, "locks and registries corrupted by hand", 1)             \
	X(CORRUPT_REGISTRY, "of these, registries", 1)                            \
	X(UNKNOWN_KEY, "unknown keys", 1)                                         \
	X(FSCK_FOUND, "findings of fsck", 1)                                      \
	X(FSCK_CLEAN, "fsck runs without any", 1)                                 \
	X(REPAIRED, "repairs by fsck", 1)                                         \
	X(REPAIRED_EARLY, "repairs by fsck while faults went on", 1)              \
	X(KEY_EXCLUDED, "malformed keys excluded", 1)                             \
	X(EXCUSED, "overlaps that a broken clock or a restored store explains", 0)

#define COVER_ENUM(name, text, wanted) COVER_##name,
enum cover_what { COVER_MAP(COVER_ENUM) COVER_COUNT };

struct cover {
	uint64_t count[COVER_COUNT];
	uint64_t seeds[COVER_COUNT]; /* in how many seeds it was seen */
	uint64_t sim_ms;             /* virtual time */
	uint64_t items;
};

static inline void cover_hit(struct cover *cover, enum cover_what what)
{
	cover->count[what]++;
}

void cover_add(struct cover *to, const struct cover *from);
void cover_print(const struct cover *cover, FILE *out);
/* Prints what a long run must have seen and this one has not, and returns how many. */
unsigned cover_missing(const struct cover *cover, FILE *out);

#endif
