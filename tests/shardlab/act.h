/*
 * What happens in a round: to processes, to the store, by people. Dealt from a shuffled
 * deck, several at once; each takes its time, and is undone when that is over.
 */
#ifndef TESTS_SHARDLAB_ACT_H
#define TESTS_SHARDLAB_ACT_H

#include "tests/shardlab/job.h"

/*
 * X(name, group, text, what it does). Groups: DAEMON, something is done to a placetd for
 * a while; MOMENT, to a process, over at once; STORE, to what etcd is or holds; PEOPLE,
 * who use the placet command.
 */
#define ACT_MAP(X)                                                                      \
	X(KILL, DAEMON, "kill", "kill -9 of a placetd, started again after a while")    \
	X(KILL_AGAIN, DAEMON, "kill-restart",                                           \
	  "kill -9 of a placetd, started again at once")                                \
	X(KILL_ALL, DAEMON, "kill-all", "kill -9 of all of them")                       \
	X(STOP, DAEMON, "stop",                                                         \
	  "SIGSTOP of a placetd beyond its lease's TTL, then SIGCONT")                  \
	X(LEAVE, DAEMON, "leave",                                                       \
	  "SIGTERM of a placetd, which has to end; started again")                      \
	X(CUT, DAEMON, "cut",                                                           \
	  "no packets between a placetd and the store; they may come late")             \
	X(CUT_ONE_WAY, DAEMON, "cut-one-way", "requests are lost, or answers are")      \
	X(BREAK, DAEMON, "break",                                                       \
	  "again and again answers are lost, then all connections reset")               \
	X(KILL_COUNTER, DAEMON, "kill-counter",                                         \
	  "kill -9 of the placetd that counts for disruption budgets")                  \
	X(CLOCK, MOMENT, "clock",                                                       \
	  "the wall's clock of a placetd jumps; the others run too fast or slow")       \
	X(KILL_MEMBER, MOMENT, "kill-member",                                           \
	  "kill -9 of who runs the pods of a cluster")                                  \
	X(KILL_ETCD, STORE, "kill-etcd", "kill -9 of etcd, started again on its data")  \
	X(STOP_ETCD, STORE, "stop-etcd", "SIGSTOP of etcd, then SIGCONT")               \
	X(QUOTA, STORE, "quota",                                                        \
	  "etcd over its quota; then compacted, defragmented, disarmed")                \
	X(RESTORE, STORE, "restore",                                                    \
	  "etcd restored from a snapshot; placet store restored")                       \
	X(COMPACT, STORE, "compact", "the history is compacted at the newest revision") \
	X(SPOIL_NODE, STORE, "spoil-node",                                              \
	  "an alloc or Node deleted or garbled by hand; fsck --repair")                 \
	X(SPOIL_POD, STORE, "spoil-pod",                                                \
	  "a state or spec deleted or garbled by hand; fsck --repair")                  \
	X(SPOIL_RULES, STORE, "spoil-rules",                                            \
	  "a lock or a registry deleted or garbled by hand")                            \
	X(SPOIL_GANG, STORE, "spoil-gang",                                              \
	  "a large gang's record deleted or garbled by hand")                           \
	X(SPOIL_BUDGET, STORE, "spoil-budget",                                          \
	  "a disruption budget deleted or garbled by hand; placet delete budget")       \
	X(SUBMIT, PEOPLE, "submit",                                                     \
	  "placet submit: new pods, some that are there, some again")                   \
	X(REMOVE, PEOPLE, "delete", "placet delete pod")                                \
	X(FORCE, PEOPLE, "delete-force", "placet delete pod --force")                   \
	X(EVICT, PEOPLE, "evict",                                                       \
	  "placet evict pod; some wait for budgets, some ignore them")                  \
	X(BUDGET, PEOPLE, "budget",                                                     \
	  "placet submit: disruption budgets that are new, or have another rule")       \
	X(UNBUDGET, PEOPLE, "delete-budget", "placet delete budget")                    \
	X(CHANGE, PEOPLE, "shrink",                                                     \
	  "a node smaller, tainted, closed (NoExecute); then as before")                \
	X(CORDON, PEOPLE, "cordon", "placet nodes cordon, then uncordon")               \
	X(DRAIN, PEOPLE, "drain", "placet nodes drain, then uncordon")                  \
	X(DELETE_NODE, PEOPLE, "delete-node",                                           \
	  "placet nodes delete --force; then it comes again")                           \
	X(CONFIG, PEOPLE, "config",                                                     \
	  "placet config set: batches, hand-over, shards to drain; and back")

#define ACT_ENUM(name, group, text, what) ACT_##name,
enum act_what { ACT_MAP(ACT_ENUM) ACT_COUNT };

enum act_group { ACT_OF_DAEMON, ACT_OF_MOMENT, ACT_OF_STORE, ACT_OF_PEOPLE };

const char *act_name(enum act_what what);
const char *act_about(enum act_what what);
enum act_group act_group(enum act_what what);
/* ACT_COUNT: there is none of that name. */
enum act_what act_by_name(const char *name);

enum { ACT_CARDS_MAX = 64 };

struct campaign;

/* Of faults, or of what people do. */
struct act_deck {
	enum act_what card[ACT_CARDS_MAX];
	unsigned count, dealt;
	uint64_t next_ms;
};

struct act {
	bool busy;
	enum act_what what;
	unsigned target; /* a process, a member */
	bool young;      /* it may not listen to signals yet */
	uint32_t node;
	uint64_t until_ms; /* when it is undone */
	bool undoing;
	uint64_t next_ms; /* of what comes again and again */
	bool deaf;
	struct job job; /* what it runs */
};

/* Begins, ends: every 20 ms or so. dealing: new things may begin. */
void act_step(struct campaign *c, bool dealing);
bool act_any(const struct campaign *c);
/* Deals from now on. */
void act_open(struct campaign *c);
/* Everything that holds is over now. */
void act_hurry(struct campaign *c);

/* -- the groups: act_daemon.c, act_store.c, act_people.c -------------------------- */

/* False: it can not be done now. */
bool act_begin_daemon(struct campaign *c, struct act *act, uint64_t now_ms);
/* While it holds. */
void act_go_on_daemon(struct campaign *c, struct act *act, uint64_t now_ms);
bool act_begin_moment(struct campaign *c, struct act *act);
bool act_begin_store(struct campaign *c, struct act *act, uint64_t now_ms);
bool act_begin_people(struct campaign *c, struct act *act, uint64_t now_ms);
/* What was done is undone, perhaps by a command. False: that has to wait. */
bool act_end_daemon(struct campaign *c, const struct act *act, uint64_t now_ms);
void act_end_store(struct campaign *c, struct act *act);
void act_end_people(struct campaign *c, struct act *act);

bool act_is_active(const struct campaign *c, enum act_what what);

#endif
