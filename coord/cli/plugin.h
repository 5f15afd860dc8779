/*
 * kubectl placet: this program under the name kubectl-placet. It asks the API of kubectl's
 * context, and has short words for what is asked most:
 *
 *	kubectl placet explain shop/web-0      placet explain pod shop/web-0
 *	kubectl placet top                     placet top conflicts
 */
#ifndef COORD_CLI_PLUGIN_H
#define COORD_CLI_PLUGIN_H

#include <stdbool.h>

enum { PLUGIN_ARGS_MAX = 16384 };

/* Arguments with a word put in. */
struct plugin_args {
	char *argv[PLUGIN_ARGS_MAX + 2];
};

/* The program's name without its directory. */
bool plugin_called_as(const char *argv0, const char *name);

/* Nothing unless the program was called as the plugin. */
void plugin_take(int *argc, char ***argv, struct plugin_args *args);

#endif
