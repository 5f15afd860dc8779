/*
 * Completion of a command line: what may follow, as a shell asks for it.
 *
 *	placet __complete get pods -n ""        the last word is the one that is typed
 *	kubectl_complete-placet shards ""       how kubectl asks its plugin
 *
 * Prints a candidate a line, with a tab and a description where one helps, then what the
 * shell is to do besides: ":4" nothing, ":0" complete names of files. (These are the numbers
 * that kubectl expects.) Live names are asked of the server or the store that the command line
 * or the environment names, for at most two seconds; then there are none.
 */
#ifndef COORD_CLI_COMPLETE_H
#define COORD_CLI_COMPLETE_H

#include <stdbool.h>

#include "coord/cli/output/command.h"

bool complete_asked(int argc, char **argv);
enum exit_code complete_run(int argc, char **argv);

extern const struct command completion_command; /* prints the script for a shell */

#endif
