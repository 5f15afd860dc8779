#include "coord/cli/plugin.h"

#include <string.h>

#include "coord/cli/session/api_opts.h"

bool plugin_called_as(const char *argv0, const char *name)
{
	const char *slash = argv0 == NULL ? NULL : strrchr(argv0, '/');

	return argv0 != NULL && strcmp(slash == NULL ? argv0 : slash + 1, name) == 0;
}

/* The second word that is meant; NULL: none is put in. */
static char *second_word(int argc, char **argv)
{
	static char pod[] = "pod", conflicts[] = "conflicts";
	const char *first = argc > 1 ? argv[1] : "", *next = argc > 2 ? argv[2] : "";

	if (strcmp(first, "top") == 0 && (argc == 2 || *next == '-'))
		return conflicts;
	if (strcmp(first, "explain") == 0 && argc > 2 && strcmp(next, "pod") != 0 &&
	    strcmp(next, "pods") != 0 && strcmp(next, "-f") != 0 &&
	    strcmp(next, "--help") != 0)
		return pod;
	return NULL;
}

void plugin_take(int *argc, char ***argv, struct plugin_args *args)
{
	char *word;

	if (*argc < 1 || !plugin_called_as(**argv, "kubectl-placet"))
		return;
	api_opts_plugin();
	word = second_word(*argc, *argv);
	if (word == NULL || *argc > PLUGIN_ARGS_MAX)
		return;
	args->argv[0] = (*argv)[0];
	args->argv[1] = (*argv)[1];
	args->argv[2] = word;
	memcpy(args->argv + 3, *argv + 2, sizeof **argv * (size_t)(*argc - 1));
	*argv = args->argv;
	++*argc;
}
