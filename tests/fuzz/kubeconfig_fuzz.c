/*
 * Any kubeconfig is read in bounds. A context that resolves names a server; what is written of
 * it reads back the same.
 */
#include <string.h>

#include "coord/kubeconfig/kubeconfig.h"
#include "coord/kubeconfig/kubeconfig_write.h"
#include "tests/fuzz/fuzz.h"

static bool same(const char *a, const char *b)
{
	return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static void write_and_read(const struct kubeconfig_target *target)
{
	struct kubeconfig config;
	struct kubeconfig_target again = {.server = NULL};
	struct pl_buf text;
	struct pl_err err = {0};

	pl_buf_init(&text, (size_t)16 << 20);
	kubeconfig_init(&config);
	if (kubeconfig_print(target, "x", &text, &err) == PL_OK &&
	    kubeconfig_add(&config, pl_buf_span(&text), "/k", &err) == PL_OK &&
	    kubeconfig_resolve(&config, NULL, &again, &err) == PL_OK) {
		PL_ASSERT(same(again.server, target->server));
		PL_ASSERT(same(again.token, target->token));
		PL_ASSERT(same(again.namespace, target->namespace));
		PL_ASSERT(same(again.server_name, target->server_name));
		PL_ASSERT(pl_span_eq(again.ca_data, target->ca_data));
		PL_ASSERT(pl_span_eq(again.key_data, target->key_data));
	} else {
		PL_ASSERT(err.code == PL_NOMEM || err.code == PL_LIMIT);
	}
	kubeconfig_done(&config);
	pl_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubeconfig_target target = {.server = NULL};
	struct kubeconfig config;
	struct pl_err err = {0};
	const char *name;

	kubeconfig_init(&config);
	if (kubeconfig_add(&config, pl_span(data, size), "/dir/k", &err) == PL_OK) {
		for (size_t i = 0; i < 4; i++) {
			name = kubeconfig_name(&config, KUBECONFIG_CONTEXTS, i);
			if (name == NULL ||
			    kubeconfig_resolve(&config, name, &target, &err) != PL_OK)
				continue;
			PL_ASSERT(strncmp(target.server, "http", 4) == 0);
			write_and_read(&target);
		}
	}
	kubeconfig_done(&config);
	return 0;
}
