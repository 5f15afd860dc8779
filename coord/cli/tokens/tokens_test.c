/* placet token, over a real etcd. */
#include "coord/service/tokens/token_record.h"
#include "tests/support/coord/cli/placet_rig.h"

T_CASE(a_token_is_made_shown_and_revoked)
{
	const char *value;

	placet_up(8);
	T_EQ(PLACET("token", "create", "ci", "--user", "ci-bot", "--group", "team-a",
	            "--group", "dev", "--expires", "30d"),
	     0);
	placet_prints("placet.ci.");
	placet_says("token ci of user ci-bot, expires ");
	placet_says("this is the only time that it is shown:");
	value = etcd_rig_get(&placet_rig.rig, "/access/tokens/ci");
	T_TRUE(value != NULL && strstr(value, "\"user\":\"ci-bot\"") != NULL);
	T_TRUE(strstr(value, "\"groups\":[\"team-a\",\"dev\"]") != NULL);
	T_TRUE(strstr(value, "\"expires\":\"2") != NULL);
	T_EQ(PLACET("token", "create", "ci", "--user", "eve", "--expires", "never"), 1);
	placet_says("there is a token of that name");
	T_EQ(PLACET("token", "list"), 0);
	placet_prints("ci-bot");
	placet_prints("team-a,dev");
	T_EQ(PLACET("token", "list", "-o", "json"), 0);
	placet_prints("\"groups\"");
	T_EQ(PLACET("token", "revoke", "none", "ci"), 1);
	placet_prints("ci revoked");
	placet_says("none: no such token");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/access/tokens/ci") == NULL);
	T_EQ(PLACET("token", "list"), 0);
	placet_says("no tokens");
	placet_down();
}

T_CASE(a_token_that_makes_no_sense_is_not_made)
{
	placet_up(8);
	T_EQ(PLACET("token", "create", "ci", "--expires", "30d"), 2);
	placet_says("--user: whose the token is");
	T_EQ(PLACET("token", "create", "ci", "--user", "ann"), 2);
	placet_says("--expires: as 30d, or never");
	T_EQ(PLACET("token", "create", "ci", "--user", "ann", "--expires", "soon"), 2);
	placet_says("--expires: ");
	T_EQ(PLACET("token", "create", "ci", "--user", "ann", "--expires", "0d"), 2);
	placet_says("--expires: want 1 to 3650");
	T_EQ(PLACET("token", "create", "a/b", "--user", "ann", "--expires", "1h"), 2);
	placet_says("token 'a/b': want only a-z, 0-9 and -");
	T_EQ(PLACET("token", "create", "ci", "--user", "system:root", "--expires", "1h"),
	     2);
	placet_says("user: names that begin with system: are reserved");
	T_EQ(PLACET("token", "create", "ci", "--user", "ann", "--group", "system:nodes",
	            "--expires", "1h"),
	     2);
	placet_says("only system:masters can be given");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/access/tokens/ci") == NULL);
	placet_down();
}
