/* Client certificates: whom they name, and which are not trusted. No socket: the client's
 * bytes and the server's are carried by hand. */
#include <openssl/ssl.h>
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/net/tls_client.h"
#include "store/net/tls_client_read.h"
#include "store/net/tls_peer.h"
#include "tests/harness/torture.h"
#include "tests/support/store/net/forge.h"

static const struct forge_part ann[] = {
	{"CN", "ann", 0, 0}, {"O", "dev", 0, 0}, {"O", "ops", 0, 0}, {NULL, NULL, 0, 0}};
static const struct forge_part localhost[] = {{"CN", "server", 0, 0}, {NULL, NULL, 0, 0}};
static const struct forge_leaf plain = {.parts = ann, .serial = 0x4711};

static struct forge authority, stranger;
static struct tls_server *server;

struct visit {
	SSL *client;
	struct tls_peer *peer;
	struct pl_buf out;
	struct tls_client *who;
	bool open;
};

static void write_crl(const struct forge *by, const uint64_t *serials, long until_s)
{
	X509_CRL *crl = forge_crl(by, serials, until_s);

	forge_write_crl("crl.pem", crl);
	X509_CRL_free(crl);
}

/* revoked: serial numbers of the list of revoked certificates; NULL: there is no list. */
static void server_open(const uint64_t *revoked)
{
	const struct forge_leaf leaf = {.parts = localhost, .usage = "serverAuth"};
	struct tls_server_files files = {.cert_file = forge_path("server.pem"),
	                                 .key_file = forge_path("server-key.pem"),
	                                 .client_ca_file = forge_path("ca.pem")};
	struct pl_err err = {0};
	struct forge own;

	authority = forge_authority("clients", NULL);
	stranger = forge_authority("clients", NULL);
	own = forge_leaf(&authority, &leaf);
	forge_write_cert("server.pem", &own);
	forge_write_key("server-key.pem", &own);
	forge_write_cert("ca.pem", &authority);
	if (revoked != NULL) {
		write_crl(&authority, revoked, 3600);
		files.client_crl_file = forge_path("crl.pem");
	}
	T_OK(tls_server_new(&files, &server, &err), &err);
	forge_free(&own);
}

static void server_close(void)
{
	tls_server_free(server);
	server = NULL;
	forge_free(&authority);
	forge_free(&stranger);
}

/* Carries bytes both ways until nothing moves. */
static void carry(struct visit *visit)
{
	uint8_t bytes[16384];

	for (unsigned round = 0; round < 8; round++) {
		struct pl_span sent;
		enum tls_peer_state state;
		int got;

		(void)SSL_do_handshake(visit->client);
		got = BIO_read(SSL_get_wbio(visit->client), bytes, sizeof bytes);
		if (got > 0)
			tls_peer_feed(visit->peer, pl_span(bytes, (size_t)got));
		state = tls_peer_handshake(visit->peer);
		visit->open = state == TLS_PEER_OPEN;
		sent = pl_buf_span(&visit->out);
		if (sent.len > 0)
			T_EQ(BIO_write(SSL_get_rbio(visit->client), sent.at,
			               (int)sent.len),
			     sent.len);
		pl_buf_clear(&visit->out, 0);
		if (state == TLS_PEER_OPEN || state == TLS_PEER_FAILED)
			break;
	}
}

static void visit_with(struct visit *visit, const struct forge *cert, int version)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	*visit = (struct visit){0};
	T_TRUE(ctx != NULL && SSL_CTX_set_max_proto_version(ctx, version) == 1);
	T_TRUE(SSL_CTX_set_min_proto_version(ctx, version) == 1);
	SSL_CTX_set_security_level(ctx, 0);
	if (cert != NULL) {
		T_TRUE(SSL_CTX_use_certificate(ctx, cert->cert) == 1);
		T_TRUE(SSL_CTX_use_PrivateKey(ctx, cert->key) == 1);
	}
	visit->client = SSL_new(ctx);
	T_TRUE(visit->client != NULL);
	SSL_CTX_free(ctx);
	SSL_set_connect_state(visit->client);
	SSL_set_bio(visit->client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	pl_buf_init(&visit->out, 1 << 20);
	visit->peer = tls_peer_new(server, &visit->out);
	T_TRUE(visit->peer != NULL);
	carry(visit);
	if (visit->open)
		T_TRUE(tls_peer_client(visit->peer, &visit->who));
}

static void visit_end(struct visit *visit)
{
	SSL_free(visit->client);
	tls_peer_free(visit->peer);
	pl_buf_done(&visit->out);
	free(visit->who);
}

static void expect(const struct forge *by, const struct forge_leaf *leaf,
                   enum tls_client_state state, const char *why)
{
	struct forge cert = forge_leaf(by, leaf);
	struct visit visit;

	for (unsigned i = 0; i < 2; i++) {
		visit_with(&visit, &cert, i == 0 ? TLS1_2_VERSION : TLS1_3_VERSION);
		T_TRUE(visit.open && visit.who != NULL);
		T_EQ(visit.who->state, state);
		T_STR(visit.who->why, why);
		if (state != TLS_CLIENT_TRUSTED)
			T_TRUE(visit.who->name.len == 0 && visit.who->group_count == 0 &&
			       visit.who->serial.len == 0);
		visit_end(&visit);
	}
	forge_free(&cert);
}

T_CASE(a_certificate_gives_its_name_and_groups)
{
	struct forge cert;
	struct visit visit;

	server_open(NULL);
	cert = forge_leaf(&authority, &plain);
	visit_with(&visit, &cert, TLS1_3_VERSION);
	T_TRUE(visit.open && visit.who != NULL);
	T_EQ(visit.who->state, TLS_CLIENT_TRUSTED);
	T_SPAN(visit.who->name, PL_SPAN_LIT("ann"));
	T_EQ(visit.who->group_count, 2);
	T_SPAN(visit.who->groups[0], PL_SPAN_LIT("dev"));
	T_SPAN(visit.who->groups[1], PL_SPAN_LIT("ops"));
	T_SPAN(visit.who->serial, PL_SPAN_LIT("4711"));
	T_TRUE(visit.who->until_s > 1700000000);
	visit_end(&visit);
	visit_with(&visit, NULL, TLS1_2_VERSION);
	T_TRUE(visit.open && visit.who == NULL);
	visit_end(&visit);
	forge_free(&cert);
	server_close();
}

T_CASE(old_tls_is_not_spoken)
{
	struct visit visit;

	server_open(NULL);
	visit_with(&visit, NULL, TLS1_1_VERSION);
	T_TRUE(!visit.open);
	visit_end(&visit);
	server_close();
}

T_CASE(a_certificate_that_is_not_trusted_names_no_client)
{
	struct forge_leaf leaf = plain;
	struct forge leaf_ca, middle;

	server_open(NULL);
	expect(&authority, &plain, TLS_CLIENT_TRUSTED, NULL);
	/* Same name of the authority, another key. */
	expect(&stranger, &plain, TLS_CLIENT_UNTRUSTED, "certificate signature failure");
	leaf.until_s = -60;
	expect(&authority, &leaf, TLS_CLIENT_UNTRUSTED, "certificate has expired");
	leaf = plain;
	leaf.from_s = 3600;
	expect(&authority, &leaf, TLS_CLIENT_UNTRUSTED, "certificate is not yet valid");
	leaf = plain;
	leaf.usage = "serverAuth";
	expect(&authority, &leaf, TLS_CLIENT_UNTRUSTED, "unsuitable certificate purpose");
	leaf = plain;
	leaf.parts = localhost; /* no authority, but it signs */
	leaf_ca = forge_leaf(&authority, &leaf);
	expect(&leaf_ca, &plain, TLS_CLIENT_UNTRUSTED,
	       "unable to get local issuer certificate");
	middle = forge_authority("middle", &stranger);
	expect(&middle, &plain, TLS_CLIENT_UNTRUSTED,
	       "unable to get local issuer certificate");
	forge_free(&leaf_ca);
	forge_free(&middle);
	server_close();
}

static const uint64_t revokes_none[] = {0}, revokes_some[] = {7, 0x4711, 0};

T_CASE(a_revoked_certificate_is_not_trusted)
{
	struct forge_leaf other = plain;

	other.serial = 0x4712;
	server_open(revokes_some);
	expect(&authority, &plain, TLS_CLIENT_UNTRUSTED, "certificate revoked");
	expect(&authority, &other, TLS_CLIENT_TRUSTED, NULL);
	server_close();
}

/* A second later, each time. */
static enum pl_code refresh(void)
{
	static uint64_t later_ms;
	struct pl_err err;

	later_ms += 1000;
	return tls_server_refresh(server, pl_clock_ms() + later_ms, &err);
}

T_CASE(a_connection_loses_its_trust_when_its_certificate_is_revoked)
{
	struct forge cert;
	struct visit visit;

	server_open(revokes_none);
	cert = forge_leaf(&authority, &plain);
	visit_with(&visit, &cert, TLS1_3_VERSION);
	T_EQ(visit.who->state, TLS_CLIENT_TRUSTED);
	tls_peer_verify(visit.peer, server, visit.who);
	T_EQ(visit.who->state, TLS_CLIENT_TRUSTED);
	write_crl(&authority, revokes_some, 3600);
	T_EQ(refresh(), PL_OK);
	tls_peer_verify(visit.peer, server, visit.who);
	T_EQ(visit.who->state, TLS_CLIENT_UNTRUSTED);
	T_STR(visit.who->why, "certificate revoked");
	visit_end(&visit);
	/* A list that can not be read keeps the one before. */
	forge_write("crl.pem", PL_SPAN_LIT("nothing\n"));
	T_EQ(refresh(), PL_TLS);
	visit_with(&visit, &cert, TLS1_2_VERSION);
	T_EQ(visit.who->state, TLS_CLIENT_UNTRUSTED);
	visit_end(&visit);
	forge_free(&cert);
	server_close();
}

T_CASE(without_a_list_of_its_authority_that_is_up_to_date_no_client_is_trusted)
{
	server_open(revokes_none);
	write_crl(&stranger, revokes_none, 3600);
	T_EQ(refresh(), PL_OK);
	expect(&authority, &plain, TLS_CLIENT_UNTRUSTED, "CRL signature failure");
	write_crl(&authority, revokes_none, -60);
	T_EQ(refresh(), PL_OK);
	expect(&authority, &plain, TLS_CLIENT_UNTRUSTED, "CRL has expired");
	server_close();
}

/* -- names ----------------------------------------------------------------------------- */

static void names(const struct forge_part *parts, const char *why)
{
	const struct forge_leaf leaf = {.parts = parts};
	struct forge cert = forge_leaf(&authority, &leaf);
	struct tls_client *client = tls_client_new(cert.cert, X509_V_OK);

	T_TRUE(client != NULL);
	T_STR(client->why, why);
	T_EQ(client->state, why == NULL ? TLS_CLIENT_TRUSTED : TLS_CLIENT_UNNAMED);
	if (why != NULL)
		T_TRUE(client->name.len == 0 && client->group_count == 0);
	free(client);
	forge_free(&cert);
}

#define PARTS(...) ((const struct forge_part[]){__VA_ARGS__, {NULL, NULL, 0, 0}})

T_CASE(names_that_could_deceive_are_refused)
{
	static const char unprintable[] = "a name in it is not printable text";
	static struct forge_part many[TLS_CLIENT_GROUPS_MAX + 3];
	static char huge[TLS_CLIENT_NAME_MAX + 2];

	authority = forge_authority("clients", NULL);
	names(PARTS({"CN", "ann", 0, 0}), NULL);
	names(PARTS({"CN", "ann,O=system:masters", 0, 0}), NULL); /* a name, no group */
	names(PARTS({"CN", "ann+O=root/CN=bob", V_ASN1_PRINTABLESTRING, 0}), NULL);
	names(PARTS({"CN", "\0a\0n", V_ASN1_BMPSTRING, 4}), NULL);
	names(PARTS({"CN", "a@b", V_ASN1_IA5STRING, 0}), NULL);
	names(PARTS({"O", "dev", 0, 0}), "it has no common name");
	names(PARTS({"OU", "ann", 0, 0}), "it has no common name");
	names(PARTS({"CN", "ann", 0, 0}, {"CN", "bob", 0, 0}),
	      "it has more than one common name");
	names(PARTS({"CN", "ann", 0, 0}, {"CN", "ann", 0, 0}),
	      "it has more than one common name");
	names(PARTS({"CN", "ann\0bob", 0, 7}), unprintable);
	names(PARTS({"CN", "ann\nbob", 0, 0}), unprintable);
	names(PARTS({"CN", "ann\x7f", 0, 0}), unprintable);
	names(PARTS({"CN", "ann", V_ASN1_T61STRING, 0}), unprintable);
	names(PARTS({"CN", "17", V_ASN1_NUMERICSTRING, 0}), unprintable);
	names(PARTS({"CN", "ann", 0, 0}, {"O", "a\tb", 0, 0}), unprintable);
	memset(huge, 'a', sizeof huge - 1);
	names(PARTS({"CN", huge, 0, 0}), unprintable);
	huge[TLS_CLIENT_NAME_MAX] = 0;
	names(PARTS({"CN", huge, 0, 0}), NULL);
	for (unsigned i = 0; i <= TLS_CLIENT_GROUPS_MAX; i++)
		many[i] = (struct forge_part){"O", "g", 0, 0};
	many[TLS_CLIENT_GROUPS_MAX] = (struct forge_part){"CN", "ann", 0, 0};
	names(many, NULL);
	many[TLS_CLIENT_GROUPS_MAX + 1] = (struct forge_part){"O", "g", 0, 0};
	names(many, "it has too many organizations");
	for (unsigned i = 0; i < 9; i++)
		many[i].text = huge;
	names(many, "its names are too long");
	forge_free(&authority);
}

static enum pl_code read_names(void)
{
	struct forge cert = forge_leaf(&authority, &plain);
	struct tls_client *client = tls_client_new(cert.cert, X509_V_OK);
	enum pl_code code = client == NULL ? PL_NOMEM : PL_OK;

	free(client);
	forge_free(&cert);
	return code;
}

T_CASE(reading_names_survives_a_lack_of_memory)
{
	authority = forge_authority("clients", NULL);
	t_torture(read_names, false);
	forge_free(&authority);
}
