#include "coord/cli/session/confirm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum pl_code ask(const struct options *options, const char *question, struct pl_err *err)
{
	char answer[16] = "";

	if (options->yes)
		return PL_OK;
	if (isatty(STDIN_FILENO) != 1)
		return pl_err_set(err, PL_CANCELED,
		                  "nothing was done; give --yes, as there is no terminal "
		                  "to ask at");
	(void)fprintf(stderr, "%s [y/N] ", question);
	(void)fflush(stderr);
	if (fgets(answer, sizeof answer, stdin) == NULL ||
	    (strcmp(answer, "y\n") != 0 && strcmp(answer, "yes\n") != 0))
		return pl_err_set(err, PL_CANCELED, "nothing was done; that was no yes");
	return PL_OK;
}
