/*
 * Acts are what happens in a round: faults of processes and of the store, and the
 * commands of users. They are dealt from a shuffled deck, several at once; each lasts a
 * while and is undone at its end.
 */
#ifndef TESTS_SHARDLAB_ACT_H
#define TESTS_SHARDLAB_ACT_H

#include "tests/shardlab/job.h"

/*
 * X(name, group, text, what the act does). Groups: DAEMON acts hold a placetd in a state
 * for a while; MOMENT acts hit a process and are over at once; STORE acts change what
 * etcd is or holds; USERS acts run commands of placet.
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
	  "no packets between a placetd and the store; they may arrive late")           \
	X(CUT_ONE_WAY, DAEMON, "cut-one-way", "requests are lost, or answers")          \
	X(BREAK, DAEMON, "break",                                                       \
	  "again and again answers are lost, then all connections reset")               \
	X(KILL_COUNTER, DAEMON, "kill-counter",                                         \
	  "kill -9 of the placetd that counts for disruption budgets")                  \
	X(CLOCK, MOMENT, "clock",                                                       \
	  "the wall's clock of a placetd jumps; the others run too fast or slow")       \
	X(KILL_MEMBER, MOMENT, "kill-member",                                           \
	  "kill -9 of the member that runs the pods of a cluster")                      \
	X(KILL_ETCD, STORE, "kill-etcd", "kill -9 of etcd, started again on its data")  \
	X(STOP_ETCD, STORE, "stop-etcd", "SIGSTOP of etcd, then SIGCONT")               \
	X(QUOTA, STORE, "quota",                                                        \
	  "etcd over its quota; then compacted, defragmented, disarmed")                \
	X(RESTORE, STORE, "restore",                                                    \
	  "etcd restored from a snapshot; placet store restored")                       \
	X(COMPACT, STORE, "compact", "the history is compacted at the newest revision") \
	X(CORRUPT_NODE, STORE, "corrupt-node",                                          \
	  "an alloc or Node deleted or corrupted by hand; fsck --repair")               \
	X(CORRUPT_POD, STORE, "corrupt-pod",                                            \
	  "a state or spec deleted or corrupted by hand; fsck --repair")                \
	X(CORRUPT_RULES, STORE, "corrupt-rules",                                        \
	  "a lock or a registry deleted or corrupted by hand")                          \
	X(CORRUPT_GANG, STORE, "corrupt-gang",                                          \
	  "a large gang's record deleted or corrupted by hand")                         \
	X(CORRUPT_BUDGET, STORE, "corrupt-budget",                                      \
	  "a disruption budget deleted or corrupted by hand; placet delete budget")     \
	X(SUBMIT, USERS, "submit",                                                      \
	  "placet submit: new pods, existing ones, removed ones")                       \
	X(REMOVE, USERS, "delete", "placet delete pod")                                 \
	X(FORCE, USERS, "delete-force", "placet delete pod --force")                    \
	X(EVICT, USERS, "evict",                                                        \
	  "placet evict pod; some wait for budgets, some ignore them")                  \
	X(BUDGET, USERS, "budget",                                                      \
	  "placet submit: disruption budgets that are new, or have another rule")       \
	X(UNBUDGET, USERS, "delete-budget", "placet delete budget")                     \
	X(CHANGE, USERS, "shrink",                                                      \
	  "a node smaller, tainted, closed (NoExecute); then as before")                \
	X(CORDON, USERS, "cordon", "placet nodes cordon, then uncordon")                \
	X(DRAIN, USERS, "drain", "placet nodes drain, then uncordon")                   \
	X(DELETE_NODE, USERS, "delete-node",                                            \
	  "placet nodes delete --force; then it comes again")                           \
	X(CONFIG, USERS, "config",                                                      \
	  "placet config set: batches, hand-over, drained shards; and back")

#define ACT_ENUM(name, group, text, what) ACT_##name,
enum act_what { ACT_MAP(ACT_ENUM) ACT_COUNT };

enum act_group { ACT_OF_DAEMON, ACT_OF_MOMENT, ACT_OF_STORE, ACT_OF_USERS };

const char *act_name(enum act_what what);
const char *act_about(enum act_what what);
enum act_group act_group(enum act_what what);
/* ACT_COUNT: no act has that name. */
enum act_what act_by_name(const char *name);

enum { ACT_CARDS_MAX = 64 };

struct campaign;

/* A deck of faults, or of commands of users. */
struct act_deck {
	enum act_what card[ACT_CARDS_MAX];
	unsigned count, dealt;
	uint64_t next_ms;
};

struct act {
	bool busy;
	enum act_what what;
	unsigned target; /* index of a process or member */
	bool starting;   /* the process may not handle signals yet */
	uint32_t node;
	uint64_t until_ms; /* the act is undone at that time */
	bool undoing;
	uint64_t next_ms; /* next repetition of an act that repeats */
	bool answers_cut;
	struct job job; /* command that the act runs */
};

/* Begins and ends acts; called every 20 ms or so. dealing: new acts may begin. */
void act_step(struct campaign *c, bool dealing);
bool act_any(const struct campaign *c);
/* Deals acts from now on. */
void act_open(struct campaign *c);
/* Ends all acts that last. */
void act_end_all(struct campaign *c);

/* -- the groups: act_daemon.c, act_store.c, act_people.c -------------------------- */

/* False: the act is not possible now. */
bool act_begin_daemon(struct campaign *c, struct act *act, uint64_t now_ms);
/* Called while the act lasts. */
void act_continue_daemon(struct campaign *c, struct act *act, uint64_t now_ms);
bool act_begin_moment(struct campaign *c, struct act *act);
bool act_begin_store(struct campaign *c, struct act *act, uint64_t now_ms);
bool act_begin_users(struct campaign *c, struct act *act, uint64_t now_ms);
/* Undoes the act, perhaps by a command. Returns false if the act can not be undone
 * yet. */
bool act_end_daemon(struct campaign *c, const struct act *act, uint64_t now_ms);
void act_end_store(struct campaign *c, struct act *act);
void act_end_users(struct campaign *c, struct act *act);

bool act_is_active(const struct campaign *c, enum act_what what);

#endif
