#include "coord/cli/up/up_api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/api_session.h"
#include "coord/kubeconfig/kubeconfig_write.h"

enum { READY_CALL_MS = 500, TEXT_MAX = 1 << 20 };

/* A port that was free a moment ago. */
static enum pl_code find_port(uint64_t *out, struct pl_err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool found = fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
	             getsockname(fd, (struct sockaddr *)&address, &len) == 0;
	int why = errno;

	if (fd >= 0)
		(void)close(fd);
	if (!found)
		return pl_err_set(err, PL_IO, "a port for the API: %s", strerror(why));
	*out = ntohs(address.sin_port);
	return PL_OK;
}

enum pl_code up_api_prepare(struct up_api *api, struct pl_err *err)
{
	uint64_t port = api->port;

	if (port == 0 && find_port(&port, err) != PL_OK)
		return err->code;
	(void)snprintf(api->listen, sizeof api->listen, "127.0.0.1:%u", (unsigned)port);
	(void)snprintf(api->url, sizeof api->url, "http://%s", api->listen);
	return PL_OK;
}

bool up_api_ready(const struct up_api *api)
{
	struct api_session session;
	struct api_request request = {.method = "GET", .path = "/readyz"};
	struct pl_err err = {0};
	bool ready;

	if (api_session_open_url(&session, api->url, READY_CALL_MS, &err) != PL_OK)
		return false;
	ready = api_session_send(&session, &request, NULL, NULL, &err) == PL_OK;
	api_session_close(&session);
	return ready;
}

/* Chooses the file's name: a file of this system alone, unless the user gave one. */
static enum pl_code choose_path(struct up_api *api, struct pl_err *err)
{
	const char *temporary = getenv("TMPDIR");
	int len;

	if (api->kubeconfig != NULL) {
		char *whole = realpath(api->kubeconfig, NULL);

		(void)snprintf(api->path, sizeof api->path, "%s",
		               whole == NULL ? api->kubeconfig : whole);
		free(whole);
		return PL_OK;
	}
	len = snprintf(api->dir, sizeof api->dir, "%s/placet-up-XXXXXX",
	               temporary == NULL || strlen(temporary) > 40 ? "/tmp" : temporary);
	PL_ASSERT(len > 0 && (size_t)len < sizeof api->dir);
	if (mkdtemp(api->dir) == NULL) {
		api->dir[0] = 0;
		return pl_err_set(err, PL_IO, "a directory for the kubeconfig: %s",
		                  strerror(errno));
	}
	(void)snprintf(api->path, sizeof api->path, "%s/kubeconfig", api->dir);
	return PL_OK;
}

enum pl_code up_api_tell(struct up_api *api, struct pl_err *err)
{
	const struct kubeconfig_target target = {.server = api->url};
	struct pl_buf text;
	enum pl_code code = choose_path(api, err);

	pl_buf_init(&text, TEXT_MAX);
	if (code == PL_OK)
		code = kubeconfig_print(&target, "placet", &text, err);
	if (code == PL_OK)
		code = kubeconfig_save(pl_buf_span(&text), api->path, err);
	pl_buf_done(&text);
	if (code != PL_OK)
		return pl_err_wrap(err, "the kubeconfig");
	api->written = true;
	print_message("api %s", api->url);
	print_message("kubeconfig %s", api->path);
	return PL_OK;
}

void up_api_done(struct up_api *api)
{
	if (api->written)
		(void)unlink(api->path);
	if (api->dir[0] != 0)
		(void)rmdir(api->dir);
}
