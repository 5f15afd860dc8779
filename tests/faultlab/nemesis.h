/*
 * The nemesis causes the faults of a run: actions dealt from a shuffled deck, each for
 * a bounded while, sometimes two at once. The same seed deals the same actions and
 * targets (as far as the leader was the same one).
 */
#ifndef TESTS_FAULTLAB_NEMESIS_H
#define TESTS_FAULTLAB_NEMESIS_H

#include "tests/faultlab/cluster.h"
#include "tests/faultlab/load.h"

/* X(action, name, needs the wire, what it does) */
#define NEMESIS_MAP(X)                                                                  \
	X(KILL_LEADER, "kill-leader", false, "SIGKILL the leader, start it again")      \
	X(KILL_FOLLOWER, "kill-follower", false, "SIGKILL a follower, start it again")  \
	X(RESTART_ALL, "restart-all", false, "SIGKILL all members, start them again")   \
	X(STOP_LEADER, "stop-leader", false, "SIGSTOP the leader, then SIGCONT")        \
	X(STOP_FOLLOWER, "stop-follower", false, "SIGSTOP a follower, then SIGCONT")    \
	X(COMPACT, "compact", false, "compact all that the watchers have seen")         \
	X(EXPIRE, "expire-leases", false, "stop keeping leases alive")                  \
	X(CUT_ONE, "cut-client-one", true, "no packets between clients and a member")   \
	X(CUT_ALL, "cut-client-all", true, "no packets between clients and members")    \
	X(CUT_DEAF, "cut-client-deaf", true, "clients do not hear a member")            \
	X(ISOLATE, "isolate", true, "no packets between the leader and its peers")      \
	X(ISOLATE_DEAF, "isolate-deaf", true, "a member does not hear its peers")       \
	X(ISOLATE_MUTE, "isolate-mute", true, "peers do not hear the leader")           \
	X(ISLAND, "island", true, "no packets between a member and any other")          \
	X(LOSSY, "lossy", true, "packets lost, doubled, reordered, delayed everywhere") \
	X(SLOW, "slow", true, "a member far away")                                      \
	X(SLEEPER, "compact-sleeper", true, "cut off watchers and compact meanwhile")

#define NEMESIS_ENUM(name, text, wire, what) NEMESIS_##name,
enum nemesis_what { NEMESIS_MAP(NEMESIS_ENUM) NEMESIS_COUNT };

const char *nemesis_name(enum nemesis_what what);
/* NEMESIS_COUNT: there is no such action. */
enum nemesis_what nemesis_by_name(const char *name);

struct nemesis_opts {
	uv_loop_t *loop;
	uint64_t seed;
	struct wire *wire; /* NULL: actions that need a wire are left out */
	struct cluster *cluster;
	struct load *load;
	struct hist *hist;
	enum nemesis_what only; /* the only action; NEMESIS_COUNT: all */
};

struct nemesis;

/* Never NULL. */
struct nemesis *nemesis_start(const struct nemesis_opts *opts);

/* Ends all actions. */
void nemesis_heal(struct nemesis *nemesis);

/* Called after nemesis_heal; the nemesis is freed once the loop has run. */
void nemesis_close(struct nemesis *nemesis);

unsigned nemesis_count(const struct nemesis *nemesis, enum nemesis_what what);
/* The actions that were left out because they need a wire. */
unsigned nemesis_left_out(const struct nemesis *nemesis);

#endif
