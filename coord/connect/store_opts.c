#include "coord/connect/store_opts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/duration.h"

enum { TIMEOUT_DEFAULT_MS = 5000, TIMEOUT_MAX_MS = 600000 };

const char store_opts_help[] =
	"  --endpoints URL[,URL]  http://host:port or https://host:port of each member\n"
	"                         (PLACET_ENDPOINTS; default http://127.0.0.1:2379)\n"
	"  --cacert FILE          whom to trust, PEM (PLACET_CACERT; default the system)\n"
	"  --cert FILE            our certificate, PEM (PLACET_CERT)\n"
	"  --key FILE             its key, PEM (PLACET_KEY)\n"
	"  --server-name NAME     the name to look for in the server's certificate\n"
	"  --user NAME            (PLACET_USER)\n"
	"  --password-file FILE   its first line is the password (or PLACET_PASSWORD)\n";

const char store_opts_timeout_help[] =
	"  --timeout DURATION     of each step, as 500ms or 10s (default 5s)\n";

static enum pl_code password_set(struct store_opts *opts, const char *text, size_t len,
                                 const char *from, struct pl_err *err)
{
	if (len >= sizeof opts->password)
		return pl_err_set(err, PL_INVALID, "%s: the password is longer than %d",
		                  from, STORE_SECRET_MAX - 1);
	memcpy(opts->password, text, len);
	opts->password[len] = 0;
	return PL_OK;
}

enum pl_code store_opts_init(struct store_opts *opts, struct pl_err *err)
{
	const char *endpoints = getenv("PLACET_ENDPOINTS");
	const char *password = getenv("PLACET_PASSWORD");

	*opts = (struct store_opts){
		.endpoints = endpoints == NULL ? "http://127.0.0.1:2379" : endpoints,
		.by_default = endpoints == NULL,
		.tls = {.ca_file = getenv("PLACET_CACERT"),
	                .cert_file = getenv("PLACET_CERT"),
	                .key_file = getenv("PLACET_KEY")},
		.user = getenv("PLACET_USER"),
		.timeout_ms = TIMEOUT_DEFAULT_MS,
	};
	if (password == NULL)
		return PL_OK;
	return password_set(opts, password, strlen(password), "PLACET_PASSWORD", err);
}

static enum pl_code password_read(struct store_opts *opts, const char *path,
                                  struct pl_err *err)
{
	char text[STORE_SECRET_MAX + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);
	enum pl_code code;

	if (fd >= 0)
		(void)close(fd);
	if (got < 0)
		return pl_err_set(err, PL_IO, "--password-file %s: %s", path,
		                  strerror(errno));
	code = password_set(opts, text, strnlen(text, (size_t)got), path, err);
	explicit_bzero(text, sizeof text);
	if (code == PL_OK)
		opts->password[strcspn(opts->password, "\r\n")] = 0;
	return code;
}

enum pl_code store_opts_set(struct store_opts *opts, int opt, const char *arg,
                            struct pl_err *err)
{
	const char **const texts[] = {&opts->endpoints,       &opts->tls.ca_file,
	                              &opts->tls.cert_file,   &opts->tls.key_file,
	                              &opts->tls.server_name, &opts->user};
	size_t which = (size_t)(opt - STORE_OPT_FIRST);

	if (which < sizeof texts / sizeof texts[0]) {
		*texts[which] = arg;
		opts->by_default = opts->by_default && which != 0;
		opts->flagged = opts->flagged || which == 0;
		return PL_OK;
	}
	if (opt == STORE_OPT_FIRST + 6)
		return password_read(opts, arg, err);
	if (pl_duration_ms(pl_span_str(arg), 1, TIMEOUT_MAX_MS, &opts->timeout_ms, err) !=
	    PL_OK)
		return pl_err_wrap(err, "--timeout");
	return PL_OK;
}

struct etcd_opts store_opts_etcd(const struct store_opts *opts)
{
	return (struct etcd_opts){
		.endpoints = opts->endpoints,
		.tls = opts->tls,
		.user = opts->user,
		.password = opts->password,
	};
}

void store_opts_add_advice(const struct store_opts *opts, struct pl_err *err)
{
	char msg[PL_ERR_MSG_SIZE];

	if (!opts->by_default || err->code != PL_UNAVAIL)
		return;
	(void)snprintf(msg, sizeof msg, "%.140s", err->msg);
	(void)pl_err_set(err, PL_UNAVAIL,
	                 "%s; start a store there, or name it with --endpoints "
	                 "or PLACET_ENDPOINTS",
	                 msg);
}

void store_opts_done(struct store_opts *opts)
{
	explicit_bzero(opts->password, sizeof opts->password);
}
