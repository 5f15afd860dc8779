/* placet: the command line. One file a command; this one finds it. */
#include <stdio.h>
#include <string.h>

#include "coord/cli/command.h"
#include "coord/cli/version.h"

static const struct command *const commands[] = {
	&up_command,
	&shards_command,
	&partitions_command,
	&shard_drain_command,
	&shard_undrain_command,
	&shard_evict_command,
	&config_get_command,
	&config_set_command,
	&config_diff_command,
	&config_history_command,
	&config_rollback_command,
	&store_check_command,
	&store_restored_command,
	&eval_command,
	&explain_pod_command,
	&explain_command,
	&replay_command,
	&nodes_apply_command,
	&nodes_cordon_command,
	&nodes_uncordon_command,
	&nodes_drain_command,
	&nodes_delete_command,
	&sim_cluster_command,
	&submit_command,
	&get_pods_command,
	&get_nodes_command,
	&get_budgets_command,
	&get_pdb_command,
	&delete_pod_command,
	&delete_budget_command,
	&delete_pdb_command,
	&evict_pod_command,
	&wait_command,
	&top_conflicts_command,
	&fsck_command,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

/* Those that begin with the word, or all. */
static unsigned print_commands(FILE *to, const char *word)
{
	size_t len = strlen(word);
	unsigned count = 0;

	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		const char *words = commands[i]->words;

		if (len > 0 && (strncmp(words, word, len) != 0 || words[len] != ' '))
			continue;
		(void)fprintf(to, "  %-16s %s\n", words, commands[i]->summary);
		count++;
	}
	return count;
}

static void print_help(FILE *to)
{
	(void)fprintf(to, "placet: a scheduling coordinator over etcd\n\n"
	                  "usage: placet COMMAND [options]\n\ncommands:\n");
	(void)print_commands(to, "");
	(void)fprintf(
		to,
		"\n  placet COMMAND --help tells more; placet --version the version\n");
}

/* How many arguments the command's words take up; 0: it is another command. */
static int words_match(const char *words, int argc, char **argv)
{
	int used = 0;

	while (*words != 0) {
		size_t len = strcspn(words, " ");

		if (used + 1 >= argc || strlen(argv[used + 1]) != len ||
		    strncmp(argv[used + 1], words, len) != 0)
			return 0;
		used++;
		words += len + (words[len] == ' ');
	}
	return used;
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "--help";

	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		int used = words_match(commands[i]->words, argc, argv);

		if (used > 0)
			return (int)commands[i]->run(argc - used, argv + used);
	}
	if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
		(void)printf("placet %s\n", PLACET_VERSION);
		return EXIT_OK;
	}
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 ||
	    strcmp(first, "help") == 0) {
		print_help(stdout);
		return argc > 1 ? EXIT_OK : EXIT_USAGE;
	}
	if (argc > 2)
		(void)fprintf(stderr, "placet: no command '%s %s'\n\n", first, argv[2]);
	else
		(void)fprintf(stderr, "placet: no command '%s'\n\n", first);
	if (print_commands(stderr, first) == 0)
		print_help(stderr);
	return EXIT_USAGE;
}
