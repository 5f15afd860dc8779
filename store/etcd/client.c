#include "store/etcd/client.h"

enum { BACKOFF_FIRST_MS = 25, BACKOFF_MAX_MS = 1000 };

void client_pump(struct client *client)
{
	if (client->state != CLIENT_OPEN)
		return;
	calls_pump(client);
	watches_pump(client);
	keepalives_pump(client);
}

void client_note_header(struct client *client, const struct kv_header *header,
                        bool linear, int64_t seen_before)
{
	struct pl_err err = {0};

	if (client->cluster_id == 0)
		client->cluster_id = header->cluster_id;
	if (header->cluster_id != client->cluster_id)
		pl_err_set(&err, PL_REWOUND, "cluster %llx answers instead of %llx",
		           (unsigned long long)header->cluster_id,
		           (unsigned long long)client->cluster_id);
	else if (linear && header->revision < seen_before)
		pl_err_set(&err, PL_REWOUND,
		           "the store is at revision %lld and had been at %lld",
		           (long long)header->revision, (long long)seen_before);
	if (err.code != PL_OK) {
		client->cluster_id = header->cluster_id;
		client->seen_revision = header->revision;
		watches_rewound(client, &err);
	} else if (header->revision > client->seen_revision) {
		client->seen_revision = header->revision;
	}
}

uint64_t client_backoff_ms(struct client *client, unsigned failures)
{
	unsigned doubled = failures < 6 ? failures : 6;
	uint64_t wait = (uint64_t)BACKOFF_FIRST_MS << doubled;

	if (wait > BACKOFF_MAX_MS)
		wait = BACKOFF_MAX_MS;
	return pl_rng_between(&client->rng, wait / 2, wait);
}
