/* For tests of the HTTP server: certificates in a directory that goes with the test. */
#ifndef TESTS_SUPPORT_STORE_NET_WEB_CERTS_H
#define TESTS_SUPPORT_STORE_NET_WEB_CERTS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/net/certs.h"
#include "tests/harness/t.h"

static char web_certs_dir[] = "/tmp/placet-web-test-XXXXXX";

static inline void web_certs_remove(void)
{
	static const char *const names[] = {"ca.pem", "server.pem", "server-key.pem",
	                                    "client.pem", "client-key.pem"};
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", web_certs_dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(web_certs_dir);
}

static inline const char *web_certs(void)
{
	T_TRUE(mkdtemp(web_certs_dir) != NULL);
	(void)atexit(web_certs_remove);
	T_EQ(certs_make(web_certs_dir, "IP:127.0.0.1", NULL), PL_OK);
	return web_certs_dir;
}

#endif
