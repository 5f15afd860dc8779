/*
 * Names come from the commands that print them ("get pods -o name"), which run in this
 * process with their output caught, so that completion sees what the commands see. An alarm
 * ends the process when they take too long: a completion that does not come is none.
 */
#include "coord/cli/complete_live.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coord/cli/output/command.h"
#include "coord/kubeconfig/kubeconfig_files.h"

enum { SECONDS = 2, ARGS_MAX = 64, NAME_MAX_SIZE = 1024, NAMES_MAX = 10000 };

/* Options that say whom to ask. */
static const char *const where_options[] = {
	"--endpoints",   "--cacert",        "--cert",       "--key",
	"--server-name", "--user",          "--prefix",     "--server",
	"--context",     "--password-file", "--kubeconfig", "--token-file",
};

/* -- the line ----------------------------------------------------------------------------- */

const char *complete_value(const struct complete_line *line, const char *name,
                           char letter)
{
	size_t len = strlen(name);

	for (int i = 0; i < line->count; i++) {
		const char *word = line->words[i];
		bool is_short = letter != 0 && word[0] == '-' && word[1] == letter;

		if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0 &&
		    word[2 + len] == '=')
			return word + 2 + len + 1;
		if (is_short && word[2] != 0)
			return word + 2 + (word[2] == '=');
		if ((is_short ||
		     (strncmp(word, "--", 2) == 0 && strcmp(word + 2, name) == 0)) &&
		    i + 1 < line->count)
			return line->words[i + 1];
	}
	return NULL;
}

/* Adds what of the line says whom to ask. */
static int add_where(const struct complete_line *line, char **args, int count)
{
	for (int i = 0; i < line->count && count + 2 < ARGS_MAX; i++) {
		for (size_t k = 0; k < sizeof where_options / sizeof where_options[0];
		     k++) {
			size_t len = strlen(where_options[k]);

			if (strncmp(line->words[i], where_options[k], len) != 0)
				continue;
			if (line->words[i][len] == '=')
				args[count++] = line->words[i];
			if (line->words[i][len] == 0 && i + 1 < line->count) {
				args[count++] = line->words[i];
				args[count++] = line->words[i + 1];
			}
		}
	}
	return count;
}

/* -- catching ----------------------------------------------------------------------------- */

/* Standard output goes to a file in memory; *out: that; returns what it was. */
static int catch_output(int *out)
{
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), before;

	*out = memfd_create("placet-names", MFD_CLOEXEC);
	before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (quiet < 0 || *out < 0 || before < 0)
		return -1;
	(void)fflush(stdout);
	(void)dup2(quiet, STDERR_FILENO);
	(void)dup2(*out, STDOUT_FILENO);
	(void)close(quiet);
	return before;
}

static FILE *run_caught(const struct complete_line *line, const struct command *command,
                        const char *namespace)
{
	static char output[] = "-o", name[] = "name", timeout[] = "--timeout",
		    time[] = "1s", space[] = "-n", word[] = "complete";
	static char namespace_text[NAME_MAX_SIZE];
	char *args[ARGS_MAX] = {word, output, name, timeout, time};
	int count = 5, out, before;

	if (namespace != NULL) {
		(void)snprintf(namespace_text, sizeof namespace_text, "%s", namespace);
		args[count++] = space;
		args[count++] = namespace_text;
	}
	count = add_where(line, args, count);
	args[count] = NULL;
	before = catch_output(&out);
	if (before < 0)
		return NULL;
	(void)alarm(SECONDS);
	(void)command->run(count, args);
	(void)alarm(0);
	(void)fflush(stdout);
	(void)dup2(before, STDOUT_FILENO);
	(void)close(before);
	(void)lseek(out, 0, SEEK_SET);
	return fdopen(out, "r");
}

/* -- printing ----------------------------------------------------------------------------- */

static bool begins(const char *text, const char *typed)
{
	return strncmp(text, typed, strlen(typed)) == 0;
}

/* Names are a line each. skip: what is left out in front of each; first: only what stands
 * before the slash, once for each (names are sorted). */
static void print_names(FILE *from, const struct complete_line *line, const char *skip,
                        bool first)
{
	char text[NAME_MAX_SIZE], last[NAME_MAX_SIZE] = "";
	unsigned count = 0;

	while (count < NAMES_MAX && fgets(text, sizeof text, from) != NULL) {
		const char *shown = text;

		text[strcspn(text, "\n")] = 0;
		if (skip != NULL && begins(text, skip) && text[strlen(skip)] == '/')
			shown = text + strlen(skip) + 1;
		if (first)
			text[strcspn(text, "/")] = 0;
		if (!begins(shown, line->typed) || (first && strcmp(last, shown) == 0))
			continue;
		(void)printf("%s\n", shown);
		memcpy(last, text, sizeof last);
		count++;
	}
}

static void print_contexts(const struct complete_line *line)
{
	struct kubeconfig config;
	struct pl_err err = {0};
	const char *name;

	kubeconfig_init(&config);
	if (kubeconfig_load(&config, complete_value(line, "kubeconfig", 0), &err) ==
	    PL_OK) {
		for (size_t i = 0;
		     (name = kubeconfig_name(&config, KUBECONFIG_CONTEXTS, i)) != NULL;
		     i++)
			if (begins(name, line->typed))
				(void)printf("%s\n", name);
	}
	kubeconfig_done(&config);
}

void complete_live(const struct complete_line *line, enum complete_kind kind)
{
	static const struct command *const sources[] = {
		[COMPLETE_PODS] = &get_pods_command,
		[COMPLETE_NODES] = &get_nodes_command,
		[COMPLETE_SHARDS] = &shards_command,
		[COMPLETE_BUDGETS] = &get_budgets_command,
		[COMPLETE_NAMESPACES] = &get_pods_command,
		[COMPLETE_CLUSTERS] = &get_nodes_command,
	};
	bool of_namespace = kind == COMPLETE_PODS || kind == COMPLETE_BUDGETS;
	const char *namespace =
		of_namespace ? complete_value(line, "namespace", 'n') : NULL;
	FILE *names;

	if (kind == COMPLETE_CONTEXTS) {
		print_contexts(line);
		return;
	}
	PL_ASSERT(kind < sizeof sources / sizeof sources[0] && sources[kind] != NULL);
	names = run_caught(line, sources[kind], namespace);
	if (names == NULL)
		return;
	/* With -n a pod is named without its namespace, but for one who types it. */
	print_names(names, line, strchr(line->typed, '/') == NULL ? namespace : NULL,
	            kind == COMPLETE_NAMESPACES || kind == COMPLETE_CLUSTERS);
	(void)fclose(names);
}
