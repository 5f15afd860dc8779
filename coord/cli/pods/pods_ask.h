/* For commands that ask pods to go or to move: those that are named, that files speak
 * of, all of a namespace or those with some labels. */
#ifndef COORD_CLI_PODS_ASK_H
#define COORD_CLI_PODS_ASK_H

#include "coord/cli/input/label_query.h"
#include "coord/cli/pods/pods_given.h"
#include "coord/cli/pods/pods_gone.h"
#include "coord/submit/wish.h"

enum {
	PODS_ASK_FORCE = OPTIONS_OWN_FIRST,
	PODS_ASK_WAIT,
	PODS_ASK_TIMEOUT,
	PODS_ASK_ALL,
	PODS_ASK_IGNORE,
	PODS_ASK_PAST,
	PODS_ASK_SELECTOR = 'l',
	PODS_ASK_EVERYWHERE = 'A',
	PODS_ASK_ARGS_MAX = 10000,
};

/* In the table of an options_spec: which pods. */
#define PODS_ASK_OPTIONS                                                    \
	PODS_GIVEN_OPTIONS, {"all", no_argument, NULL, PODS_ASK_ALL},       \
		{"selector", required_argument, NULL, PODS_ASK_SELECTOR},   \
		{"all-namespaces", no_argument, NULL, PODS_ASK_EVERYWHERE}, \
		{"force", no_argument, NULL, PODS_ASK_FORCE},               \
		{"timeout", required_argument, NULL, PODS_ASK_TIMEOUT},     \
	{                                                                   \
		"ignore-not-found", no_argument, NULL, PODS_ASK_IGNORE      \
	}

#define PODS_ASK_HELP                                                                 \
	"  -f, --filename PATH    as of placet submit\n"                              \
	"  -n, --namespace NAME   of names without one (default default)\n"           \
	"  --all                  every pod of that namespace\n"                      \
	"  -l, --selector LABELS  those of that namespace with labels, as app=web,\n" \
	"                         tier!=db or 'track in (a,b)'\n"                     \
	"  -A, --all-namespaces   with -l: whatever their namespace\n"

/* Names. */
struct pods_held {
	struct pl_arena arena;
	struct pods_held_pod {
		struct pl_span space, name;
	} * at;
	size_t count, cap;
};

struct pods_ask {
	enum wish_verb verb;
	const char
		*words[WISH_GARBLED + 1]; /* what became of one; NULL: it is a failure */
	const char *question;             /* "Delete" */
	bool wait;
	/* As of the options. */
	struct pods_given given;
	struct label_query query; /* none: not by labels */
	bool ignore_absent, force, all, everywhere, past_budgets;
	uint64_t timeout_ms;
	/* While it goes on. */
	const struct reach *reach;
	struct intake intake;
	unsigned arg;
	struct pl_map named; /* of --all and labels: in the order of partitions */
	struct pl_map_node *next;
	struct wishes *wishes;
	struct pods_gone gone;
	uint64_t absent, left;
	struct pods_held held[2]; /* by budgets: in the round before, in this one */
	unsigned round;
	size_t again; /* the next of the round before */
	struct pl_err err;
};

PL_NODISCARD enum pl_code pods_ask_take(void *ctx, int opt, const char *arg,
                                        struct pl_err *err);
PL_NODISCARD enum pl_code pods_ask_check(void *ctx, const struct options *options,
                                         struct pl_err *err);
/* All of such a command. */
enum exit_code pods_ask_run(struct pods_ask *job, const struct options_spec *spec,
                            int argc, char **argv);

#endif
