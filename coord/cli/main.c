/* placet: finds the command and runs it; each command has a file of its own. Called as
 * kubectl-placet it is kubectl's plugin. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coord/cli/commands.h"
#include "coord/cli/complete.h"
#include "coord/cli/output/message.h"
#include "coord/cli/plugin.h"
#include "coord/connect/version.h"

/* Compares a word; when it need not be exact, an s more or less is ignored. */
static bool word_match(const char *word, size_t len, const char *arg, bool exact)
{
	size_t given = strlen(arg), both = given < len ? given : len;

	if (both == 0 || strncmp(arg, word, both) != 0)
		return false;
	return given == len || (!exact && given == len + 1 && arg[len] == 's') ||
	       (!exact && given + 1 == len && word[given] == 's');
}

/* Whether the word is the first of the command's two words, or the second. */
static bool has_word(const char *words, const char *word, bool first)
{
	const char *space = strchr(words, ' ');

	if (space == NULL)
		return false;
	return first ? word_match(words, (size_t)(space - words), word, false)
	             : word_match(space + 1, strlen(space + 1), word, false);
}

static unsigned print_matching(FILE *to, const char *word, bool first)
{
	unsigned count = 0;

	for (unsigned i = 0; i < commands_count; i++) {
		const char *words = commands[i]->words;

		if (*word != 0 && strcmp(words, word) != 0 &&
		    !has_word(words, word, first))
			continue;
		(void)fprintf(to, "  %-16s %s\n", words, commands[i]->summary);
		count++;
	}
	return count;
}

/* The commands that begin with the word; when there are none, the commands whose
 * second word it is; "": all commands. */
static unsigned print_commands(FILE *to, const char *word)
{
	unsigned count = print_matching(to, word, true);

	return count > 0 ? count : print_matching(to, word, false);
}

static void print_help(FILE *to)
{
	(void)fprintf(to, "placet: a scheduling coordinator over etcd\n\n"
	                  "usage: placet COMMAND [options]\n\ncommands:\n");
	(void)print_commands(to, "");
	(void)fprintf(
		to,
		"\n  placet COMMAND --help prints its options; placet --version the version\n");
}

/* How many arguments the command's words take up; 0: another command is meant. "get
 * pod" is "get pods", but "shard" is not "shards", because other commands begin with
 * it. */
static int words_match(const char *words, int argc, char **argv, bool exact)
{
	int used = 0;

	while (*words != 0) {
		size_t len = strcspn(words, " ");

		if (used + 1 >= argc || !word_match(words, len, argv[used + 1], exact))
			return 0;
		used++;
		words += len + (words[len] == ' ');
	}
	return used;
}

/* Commands of two words come first, so that "shards drain" is not "shards". */
static const struct command *find_command(int argc, char **argv, int *used)
{
	enum { TWO_EXACT, TWO, ONE, PASSES };

	PL_ASSERT(commands_count > 0);
	for (unsigned i = 0; i < (unsigned)PASSES * commands_count; i++) {
		const struct command *command = commands[i % commands_count];
		unsigned pass = i / commands_count;

		if ((strchr(command->words, ' ') == NULL) != (pass == ONE))
			continue;
		*used = words_match(command->words, argc, argv, pass != TWO);
		if (*used > 0)
			return command;
	}
	return NULL;
}

enum { SLIP_MAX = 2, WORD_MAX = 32, WORDS_MAX = 2 * WORD_MAX + 1 };

/* The number of letters that are inserted, removed, changed or swapped with the
 * next; more than SLIP_MAX for another word. */
static unsigned edit_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	unsigned row[3][WORD_MAX + 1];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SLIP_MAX + 1;
	for (size_t i = 0; i <= a_len; i++) {
		unsigned *now = row[i % 3], *last = row[(i + 2) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len && i == 0; j++)
			now[j] = (unsigned)j;
		for (size_t j = 1; j <= b_len && i > 0; j++) {
			unsigned changed = last[j - 1] + (a[i - 1] != b[j - 1]);
			unsigned least = changed < last[j] + 1 ? changed : last[j] + 1;

			least = least < now[j - 1] + 1 ? least : now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && row[(i + 1) % 3][j - 2] < least)
				least = row[(i + 1) % 3][j - 2] + 1;
			now[j] = least;
		}
	}
	return row[a_len % 3][b_len];
}

static const char *join_words(char out[WORDS_MAX + 1], const char *first,
                              const char *second)
{
	(void)snprintf(out, WORDS_MAX + 1, "%.*s %.*s", WORD_MAX, first, WORD_MAX,
	               second);
	return out;
}

/* The command that is probably meant, also with its words swapped; NULL: none is
 * near. */
static const char *nearest_command(int argc, char **argv)
{
	char two[WORDS_MAX + 1], turned[WORDS_MAX + 1];
	const char *second = argc > 2 ? argv[2] : "";
	size_t least = SLIP_MAX + 1;
	const char *found = NULL;

	for (unsigned i = 0; i < commands_count; i++) {
		const char *words = commands[i]->words;
		bool one = strchr(words, ' ') == NULL;
		size_t far = edit_distance(
			one ? argv[1] : join_words(two, argv[1], second), words);
		size_t back =
			one ? far
			    : edit_distance(join_words(turned, second, argv[1]), words);

		far = back < far ? back : far;
		if (one && far == 0) /* an exact match would have run */
			continue;
		if (far < least && far * 3 <= strlen(words)) {
			least = far;
			found = words;
		}
	}
	return found;
}

/* A one-word command followed by a word that makes it look like a two-word command. */
static bool is_typo(const struct command *command, int argc, char **argv)
{
	return strchr(command->words, ' ') == NULL && argc > 2 && argv[2][0] != '-' &&
	       nearest_command(argc, argv) != NULL;
}

static enum exit_code unknown_command(int argc, char **argv)
{
	const char *near = nearest_command(argc, argv);

	/* The argument comes from outside: it must not control the terminal. */
	if (argc > 2)
		print_message("placet: no command '%s %s'", argv[1], argv[2]);
	else
		print_message("placet: no command '%s'", argv[1]);
	if (near != NULL)
		print_message("did you mean 'placet %s'?", near);
	(void)fputc('\n', stderr);
	if (print_commands(stderr, argv[1]) == 0 && near == NULL)
		print_help(stderr);
	return EXIT_USAGE;
}

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 ||
	       strcmp(arg, "help") == 0;
}

/* Prints the help of the command that argv names, of the commands with that word, or
 * of all. */
static enum exit_code run_help(int argc, char **argv)
{
	static char option[] = "--help";
	char *asked[] = {argv[0], option, NULL};
	const struct command *command;
	int used = 0;

	if (argc == 1) {
		print_help(stdout);
		return EXIT_OK;
	}
	command = find_command(argc, argv, &used);
	if (command != NULL)
		return command->run(2, asked);
	if (argc == 2 && print_commands(stdout, argv[1]) > 0)
		return EXIT_OK;
	return unknown_command(argc, argv);
}

/* A closed standard stream would be the next socket, and be printed into. The
 * replacement is opened so that it can not be used either. */
static void open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			abort();
}

/* Results that could not be written are a failure. */
static int exit_status(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (status == EXIT_OK && errno != EPIPE)
		print_message("placet: print: %s",
		              errno == 0 ? "not all of it could be written"
		                         : strerror(errno));
	return status == EXIT_OK ? EXIT_FAILED : status;
}

int main(int argc, char **argv)
{
	struct plugin_args plugin;
	const struct command *command;
	const char *first;
	int used = 0;

	open_standard();
	if (complete_asked(argc, argv))
		return exit_status((int)complete_run(argc, argv));
	plugin_take(&argc, &argv, &plugin);
	first = argc > 1 ? argv[1] : "";
	command = find_command(argc, argv, &used);
	if (command != NULL && !is_typo(command, argc, argv))
		return exit_status((int)command->run(argc - used, argv + used));
	if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
		(void)printf("placet %s\n", PLACET_VERSION);
		return exit_status(EXIT_OK);
	}
	if (argc == 1) {
		print_help(stdout);
		return exit_status(EXIT_USAGE);
	}
	if (is_help(first))
		return exit_status((int)run_help(argc - 1, argv + 1));
	if (argc == 3 && is_help(argv[2]))
		return exit_status((int)run_help(2, argv));
	return (int)unknown_command(argc, argv);
}
