/* Live names for the completion of a command line. */
#ifndef COORD_CLI_COMPLETE_LIVE_H
#define COORD_CLI_COMPLETE_LIVE_H

/* Kinds of words at a place of a command line. */
enum complete_kind {
	COMPLETE_NOTHING,
	COMPLETE_FILES,
	COMPLETE_PODS,
	COMPLETE_NODES,
	COMPLETE_SHARDS,
	COMPLETE_BUDGETS,
	COMPLETE_NAMESPACES,
	COMPLETE_CLUSTERS,
	COMPLETE_CONTEXTS,
	COMPLETE_WORDS, /* of a fixed list */
};

/* The command line: words before the typed one, and that. */
struct complete_line {
	char **words;
	int count;
	const char *typed;
};

/* Prints those that begin as typed. */
void complete_live(const struct complete_line *line, enum complete_kind kind);

/* The value of an option in the line, by its long name and its letter; NULL: it is not
 * there. */
const char *complete_value(const struct complete_line *line, const char *name,
                           char letter);

#endif
