#include "coord/cli/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "coord/cli/commands.h"
#include "coord/cli/complete_live.h"
#include "coord/cli/plugin.h"
#include "coord/cli/session/api_opts.h"
#include "coord/cli/session/options.h"

#define ASKED "__complete"
#define PLUGIN_ASKED "kubectl_complete-placet"

enum directive { DIRECTIVE_FILES = 0, DIRECTIVE_NOTHING = 4 };

/* -- what may follow ---------------------------------------------------------------------- */

static const struct {
	const char *words; /* of the command */
	enum complete_kind kind;
	const char *list; /* COMPLETE_WORDS: one after another */
} arguments[] = {
	{"get pods", COMPLETE_PODS, NULL},
	{"delete pod", COMPLETE_PODS, NULL},
	{"evict pod", COMPLETE_PODS, NULL},
	{"explain pod", COMPLETE_PODS, NULL},
	{"wait", COMPLETE_PODS, NULL},
	{"get nodes", COMPLETE_NODES, NULL},
	{"nodes cordon", COMPLETE_NODES, NULL},
	{"nodes uncordon", COMPLETE_NODES, NULL},
	{"nodes drain", COMPLETE_NODES, NULL},
	{"nodes delete", COMPLETE_NODES, NULL},
	{"shard drain", COMPLETE_SHARDS, NULL},
	{"shard undrain", COMPLETE_SHARDS, NULL},
	{"shard evict", COMPLETE_SHARDS, NULL},
	{"delete budget", COMPLETE_BUDGETS, NULL},
	{"delete pdb", COMPLETE_BUDGETS, NULL},
	{"config get", COMPLETE_WORDS, "coord scheduler shards weights"},
	{"config set", COMPLETE_WORDS, "coord scheduler shards weights"},
	{"config diff", COMPLETE_WORDS, "coord scheduler shards weights"},
	{"config history", COMPLETE_WORDS, "coord scheduler shards weights"},
	{"config rollback", COMPLETE_WORDS, "coord scheduler shards weights"},
	{"completion", COMPLETE_WORDS, "bash zsh fish"},
};

static const struct {
	const char *name; /* of the option */
	enum complete_kind kind;
	const char *list;
} values[] = {
	{"namespace", COMPLETE_NAMESPACES, NULL},
	{"node", COMPLETE_NODES, NULL},
	{"cluster", COMPLETE_CLUSTERS, NULL},
	{"context", COMPLETE_CONTEXTS, NULL},
	{"filename", COMPLETE_FILES, NULL},
	{"kubeconfig", COMPLETE_FILES, NULL},
	{"token-file", COMPLETE_FILES, NULL},
	{"password-file", COMPLETE_FILES, NULL},
	{"ca", COMPLETE_FILES, NULL},
	{"cacert", COMPLETE_FILES, NULL},
	{"cert", COMPLETE_FILES, NULL},
	{"key", COMPLETE_FILES, NULL},
	{"profile", COMPLETE_FILES, NULL},
	{"phase", COMPLETE_WORDS, "Pending Bound Terminating Succeeded Failed malformed"},
	{"store", COMPLETE_WORDS, "etcd memory"},
	{"for", COMPLETE_WORDS, "bound delete"},
	{"without", COMPLETE_WORDS, "cluster="},
};

/* -- printing ------------------------------------------------------------------------------ */

static void print_if(const struct complete_line *line, const char *word, size_t len,
                     const char *about)
{
	size_t typed = strlen(line->typed);

	if (typed > len || strncmp(word, line->typed, typed) != 0)
		return;
	(void)printf("%.*s%s%s\n", (int)len, word, about == NULL ? "" : "\t",
	             about == NULL ? "" : about);
}

static void print_list(const struct complete_line *line, const char *list)
{
	while (*list != 0) {
		size_t len = strcspn(list, " ");

		print_if(line, list, len, NULL);
		list += len + (list[len] == ' ');
	}
}

static enum directive print_kind(const struct complete_line *line,
                                 enum complete_kind kind, const char *list)
{
	switch (kind) {
	case COMPLETE_FILES:
		return DIRECTIVE_FILES;
	case COMPLETE_WORDS:
		print_list(line, list);
		break;
	case COMPLETE_NOTHING:
		break;
	case COMPLETE_PODS:
	case COMPLETE_NODES:
	case COMPLETE_SHARDS:
	case COMPLETE_BUDGETS:
	case COMPLETE_NAMESPACES:
	case COMPLETE_CLUSTERS:
	case COMPLETE_CONTEXTS:
		complete_live(line, kind);
		break;
	}
	return DIRECTIVE_NOTHING;
}

/* -- options ------------------------------------------------------------------------------- */

static void print_options(const struct complete_line *line, const struct command *command)
{
	struct option all[OPTIONS_LIST_MAX];
	char word[64];

	if (command->spec == NULL)
		return;
	options_list(command->spec, all);
	for (const struct option *at = all; at->name != NULL; at++) {
		int len = snprintf(word, sizeof word, "--%s", at->name);

		print_if(line, word, (size_t)len, NULL);
	}
}

/* The option whose value is typed; NULL: none. */
static const struct option *pending_option(const struct complete_line *line,
                                           const struct command *command,
                                           struct option all[OPTIONS_LIST_MAX])
{
	const char *last = line->count == 0 ? "" : line->words[line->count - 1];

	if (last[0] != '-' || command->spec == NULL)
		return NULL;
	options_list(command->spec, all);
	for (const struct option *at = all; at->name != NULL; at++) {
		bool is_short =
			isalpha(at->val) && last[1] == (char)at->val && last[2] == 0;
		bool is_long =
			strncmp(last, "--", 2) == 0 && strcmp(last + 2, at->name) == 0;

		if ((is_short || is_long) && at->has_arg == required_argument)
			return at;
	}
	return NULL;
}

static enum directive print_value(const struct complete_line *line,
                                  const struct command *command, const char *option)
{
	unsigned common = command->spec->common;

	if (strcmp(option, "output") == 0) {
		print_list(line, (common & OPTIONS_FORMAT) != 0 ? "text json"
		                 : (common & OPTIONS_NAMES) != 0
		                         ? "table wide json yaml name"
		                 : (common & OPTIONS_OUTPUT) != 0 ? "table wide json yaml"
		                                                  : "text json dot");
		return DIRECTIVE_NOTHING;
	}
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
		if (strcmp(values[i].name, option) == 0)
			return print_kind(line, values[i].kind, values[i].list);
	return DIRECTIVE_NOTHING;
}

/* "--output=js": the value is completed behind the sign, which shells take as one word. */
static enum directive print_joined(const struct complete_line *line,
                                   const struct command *command, const char *equals)
{
	struct complete_line value = *line;
	char option[64];
	size_t len = (size_t)(equals - line->typed) - 2;

	if (command->spec == NULL || len >= sizeof option)
		return DIRECTIVE_NOTHING;
	memcpy(option, line->typed + 2, len);
	option[len] = 0;
	value.typed = equals + 1;
	return print_value(&value, command, option);
}

/* -- commands ------------------------------------------------------------------------------ */

/* Whether the command begins with the word; *rest: its second word, or "". */
static bool first_is(const struct command *command, const char *word, const char **rest)
{
	size_t len = strcspn(command->words, " ");

	*rest = command->words + len + (command->words[len] == ' ');
	return strlen(word) == len && strncmp(command->words, word, len) == 0;
}

static void print_first_words(const struct complete_line *line)
{
	for (unsigned i = 0; i < commands_count; i++) {
		const char *words = commands[i]->words;
		size_t len = strcspn(words, " ");
		bool seen = false;

		for (unsigned k = 0; k < i; k++)
			seen = seen || (strncmp(commands[k]->words, words, len) == 0 &&
			                (commands[k]->words[len] == ' ' ||
			                 commands[k]->words[len] == 0));
		if (!seen)
			print_if(line, words, len,
			         words[len] == 0 ? commands[i]->summary : NULL);
	}
}

static void print_second_words(const struct complete_line *line, const char *first)
{
	const char *rest;

	for (unsigned i = 0; i < commands_count; i++)
		if (first_is(commands[i], first, &rest) && *rest != 0)
			print_if(line, rest, strlen(rest), commands[i]->summary);
}

/* How many of the line's words name the command; 0: none does. */
static int find_words(const struct complete_line *line, const struct command **out)
{
	const char *rest;

	for (int wanted = 2; wanted >= 1; wanted--) {
		for (unsigned i = 0; i < commands_count && line->count >= wanted; i++) {
			if (!first_is(commands[i], line->words[0], &rest) ||
			    (wanted == 1) != (*rest == 0) ||
			    (wanted == 2 && strcmp(rest, line->words[1]) != 0))
				continue;
			*out = commands[i];
			return wanted;
		}
	}
	return 0;
}

static enum directive print_arguments(const struct complete_line *line,
                                      const struct command *command)
{
	struct option all[OPTIONS_LIST_MAX];
	const struct option *pending = pending_option(line, command, all);
	const char *equals = strchr(line->typed, '=');

	if (pending != NULL)
		return print_value(line, command, pending->name);
	if (strncmp(line->typed, "--", 2) == 0 && equals != NULL)
		return print_joined(line, command, equals);
	if (line->typed[0] == '-') {
		print_options(line, command);
		return DIRECTIVE_NOTHING;
	}
	for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++)
		if (strcmp(arguments[i].words, command->words) == 0)
			return print_kind(line, arguments[i].kind, arguments[i].list);
	return DIRECTIVE_NOTHING;
}

static enum directive print_candidates(const struct complete_line *line)
{
	const struct command *command = NULL;
	int used;

	if (line->count == 0) {
		print_first_words(line);
		return DIRECTIVE_NOTHING;
	}
	used = find_words(line, &command);
	if (line->count == 1)
		print_second_words(line, line->words[0]);
	if (used == 0)
		return DIRECTIVE_NOTHING;
	return print_arguments(line, command);
}

/* -- who asks ------------------------------------------------------------------------------ */

bool complete_asked(int argc, char **argv)
{
	return (argc > 0 && plugin_called_as(argv[0], PLUGIN_ASKED)) ||
	       (argc > 1 && strcmp(argv[1], ASKED) == 0);
}

/* As the plugin is called: "explain POD" is "explain pod POD". */
static void take_plugin(struct complete_line *line, char *words[3])
{
	static char pod[] = "pod";

	api_opts_plugin();
	if (line->count != 1 || strcmp(line->words[0], "explain") != 0)
		return;
	words[0] = line->words[0];
	words[1] = pod;
	line->words = words;
	line->count = 2;
}

enum exit_code complete_run(int argc, char **argv)
{
	bool plugin = plugin_called_as(argv[0], PLUGIN_ASKED) ||
	              plugin_called_as(argv[0], "kubectl-placet");
	int skip = strcmp(argc > 1 ? argv[1] : "", ASKED) == 0 ? 2 : 1;
	struct complete_line line = {.typed = ""};
	char *words[3];
	enum directive directive;

	if (argc > skip) {
		line.words = argv + skip;
		line.count = argc - skip - 1;
		line.typed = argv[argc - 1];
	}
	if (plugin)
		take_plugin(&line, words);
	directive = print_candidates(&line);
	(void)printf(":%d\n", (int)directive);
	return EXIT_OK;
}
