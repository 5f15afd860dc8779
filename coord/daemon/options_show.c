#include "coord/daemon/options_int.h"

/* The output of --help and of --print-config. */

static void help_of(FILE *to, enum daemon_option option)
{
	const struct option_def *def = &option_table[option];
	const char *line = def->help;
	char flag[64];

	(void)snprintf(flag, sizeof flag, "--%s %s", def->name, def->value);
	while (*line != 0) {
		int len = (int)strcspn(line, "\n");

		(void)fprintf(to, "  %-26s %.*s", flag, len, line);
		flag[0] = 0;
		line += len + (line[len] == '\n');
		if (*line == 0 && def->normal != NULL && def->normal[0] != 0)
			(void)fprintf(to, " (default %s)", def->normal);
		(void)fputc('\n', to);
	}
}

void daemon_opts_help(FILE *to)
{
	(void)fputs("placetd: shards of Placet, which own partitions and work on them\n\n"
	            "usage: placetd [options]\n\n",
	            to);
	for (unsigned i = 0; i < DAEMON_OPTION_COUNT; i++)
		help_of(to, i);
	(void)fputs(
		"  --config FILE              options in YAML or JSON, as \"shards: 2\"; may\n"
		"                             come more than once, the later wins\n"
		"  --print-config             show what would be used and where it comes\n"
		"                             from, and end\n"
		"  --metrics-page             print the documentation of all metrics, and end\n"
		"  --version\n"
		"  -h, --help\n\n"
		"A flag wins over the environment, that over files. Each option is also a\n"
		"variable (--log-format: PLACET_LOG_FORMAT; --etcd: PLACET_ENDPOINTS) and a\n"
		"field of a file (log_format). Lengths of time are written as 500ms, 10s.\n\n"
		"SIGTERM or SIGINT: stop gracefully: hand every partition over, step down,\n"
		"revoke the leases. A second one: stop at once; others take over when the\n"
		"leases have run out. SIGHUP changes nothing: files of TLS are read again by\n"
		"themselves, and the log goes to stderr.\n\n"
		"Exit status:\n"
		"  0  stopped gracefully\n"
		"  1  failed: a shard's id is in use, the store can not be used, or the\n"
		"     graceful stop took longer than --drain-timeout\n"
		"  2  the options make no sense\n"
		"  3  stopped at once by a second signal\n",
		to);
}

void daemon_opts_show(const struct daemon_opts *opts, FILE *to)
{
	for (unsigned i = 0; i < DAEMON_OPTION_COUNT; i++) {
		const char *text = opts->text[i];
		const char *source = opts->source[i];

		(void)fprintf(to, "%-22s %-32s (%s)\n", option_table[i].name,
		              text == NULL || *text == 0 ? "-" : text,
		              source == NULL ? "default" : source);
	}
	(void)fprintf(to, "%-22s %-32s (%s)\n", "password",
	              opts->store.password[0] == 0 ? "-" : "(secret)",
	              opts->store.password[0] == 0 ? "default"
	              : opts->text[DAEMON_PASSWORD_FILE] == NULL
	                      ? "PLACET_PASSWORD"
	                      : opts->source[DAEMON_PASSWORD_FILE]);
}

void daemon_opts_json(const struct daemon_opts *opts, struct pl_json_out *out)
{
	char field[64];

	pl_json_out_object(out);
	for (unsigned i = 0; i < DAEMON_OPTION_COUNT; i++) {
		pl_json_out_name(out, option_field(i, field));
		pl_json_out_object(out);
		pl_json_out_name(out, "value");
		pl_json_out_str(out, opts->text[i] == NULL ? "" : opts->text[i]);
		pl_json_out_name(out, "source");
		pl_json_out_str(out,
		                opts->source[i] == NULL ? "default" : opts->source[i]);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}
