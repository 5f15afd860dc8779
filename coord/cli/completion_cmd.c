/* placet completion: the script that a shell loads; what it completes with comes from
 * placet itself (complete.h). */
#include <stdio.h>
#include <string.h>

#include "coord/cli/complete.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/options.h"

/* Words with a colon or an equals sign are several for bash; placet's names have none. */
static const char bash_script[] =
	"# bash completion of placet: source <(placet completion bash)\n"
	"_placet() {\n"
	"\tlocal line directive= cur=${COMP_WORDS[COMP_CWORD]}\n"
	"\tlocal -a words=()\n"
	"\tlocal i\n"
	"\t# --output=json comes as three words.\n"
	"\tfor ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == = && ${#words[@]} -gt 0 ]]; then\n"
	"\t\t\twords[-1]+==\n"
	"\t\telif [[ ${#words[@]} -gt 0 && ${words[-1]} == --*= ]]; then\n"
	"\t\t\twords[-1]+=${COMP_WORDS[i]}\n"
	"\t\telse\n"
	"\t\t\twords+=(\"${COMP_WORDS[i]}\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t[[ $cur == = ]] && cur=\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tif [[ $line == :* ]]; then\n"
	"\t\t\tdirective=$line\n"
	"\t\telse\n"
	"\t\t\tCOMPREPLY+=(\"${line%%$'\\t'*}\")\n"
	"\t\tfi\n"
	"\tdone < <(command \"${COMP_WORDS[0]}\" __complete \"${words[@]}\" 2>/dev/null)\n"
	"\tif [[ $directive == :0 ]]; then\n"
	"\t\tlocal IFS=$'\\n'\n"
	"\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\telif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then\n"
	"\t\tcompopt -o nospace 2>/dev/null\n"
	"\tfi\n"
	"}\n"
	"complete -F _placet placet\n";

static const char zsh_script[] =
	"#compdef placet\n"
	"# zsh completion of placet: source <(placet completion zsh), or as _placet in fpath\n"
	"_placet() {\n"
	"\tlocal line directive=\n"
	"\tlocal -a names shown\n"
	"\twhile IFS= read -r line; do\n"
	"\t\tif [[ $line == :* ]]; then\n"
	"\t\t\tdirective=$line\n"
	"\t\telse\n"
	"\t\t\tnames+=(\"${line%%$'\\t'*}\")\n"
	"\t\t\tshown+=(\"${line/$'\\t'/  -- }\")\n"
	"\t\tfi\n"
	"\tdone < <(command \"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
	"\tif [[ $directive == :0 ]]; then\n"
	"\t\t_files\n"
	"\telif (( $#names )); then\n"
	"\t\t[[ $PREFIX == --*=* ]] && compset -P '*='\n"
	"\t\tcompadd -l -d shown -a names\n"
	"\tfi\n"
	"}\n"
	"if [[ $funcstack[1] == _placet ]]; then\n"
	"\t_placet \"$@\"\n"
	"else\n"
	"\tcompdef _placet placet\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion of placet: placet completion fish | source\n"
	"function __placet_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l typed (commandline -ct)\n"
	"\tset -l lines (command $words[1] __complete $words[2..-1] \"$typed\" 2>/dev/null)\n"
	"\tset -l joined (string match -r -- '^--[^=]*=' \"$typed\")\n"
	"\tfor line in $lines\n"
	"\t\tswitch $line\n"
	"\t\t\tcase ':0'\n"
	"\t\t\t\t__fish_complete_path (string replace -- \"$joined\" '' \"$typed\")\n"
	"\t\t\tcase ':*'\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\techo -- \"$joined$line\"\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c placet -f -a '(__placet_complete)'\n";

static const struct shell {
	const char *name, *script;
} shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

static const struct shell *shell_of(const char *name)
{
	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
		if (strcmp(shells[i].name, name) == 0)
			return &shells[i];
	return NULL;
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	(void)ctx;
	if (shell_of(options->args[0]) != NULL)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "'%.40s': want bash, zsh or fish",
	                  options->args[0]);
}

static const struct options_spec spec = {
	.words = "completion",
	.usage = "bash|zsh|fish",
	.about =
		"Prints the script with which a shell completes placet's commands, options and\n"
		"live names: pods, nodes, namespaces, clusters, shards. These are asked of the\n"
		"server or the store that the command line or the environment names.\n"
		"kubectl placet is completed by kubectl's own completion.\n",
	.example = "  source <(placet completion bash)\n"
		   "  source <(placet completion zsh)\n"
		   "  placet completion fish | source\n",
	.common = OPTIONS_OFFLINE,
	.args_min = 1,
	.args_max = 1,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct options options;
	enum exit_code exit_code;

	if (!options_parse(&spec, argc, argv, NULL, &options, &exit_code))
		return exit_code;
	(void)fputs(shell_of(options.args[0])->script, stdout);
	options_done(&options);
	return EXIT_OK;
}

const struct command completion_command = {
	.words = "completion",
	.summary = "print the script with which a shell completes placet",
	.run = run_command,
	.spec = &spec};
