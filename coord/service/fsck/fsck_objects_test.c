/* Cluster objects that do not parse, or stand under another name. */
#include "tests/support/coord/service/fsck/fsck_fixture.h"

T_CASE(objects_malformed)
{
	up();
	(void)kit_put(&kit, "/objects/core/namespaces/web",
	              "{\"metadata\":{\"name\":\"web\"}}");
	(void)kit_put(&kit, "/objects/core/namespaces", "{\"v\":1}");
	/* no decision reads that kind */
	(void)kit_put(&kit, "/objects/core/configmaps/web/c", "{");
	clean();
	(void)kit_put(&kit, "/objects/core/namespaces/web", "{");
	finds(FSCK_OBJECT_MALFORMED, 1);
	(void)kit_put(&kit, "/objects/core/namespaces/web",
	              "{\"metadata\":{\"name\":\"web\"}}");
	(void)kit_put(&kit, "/objects/core/services/web/s",
	              "{\"metadata\":{\"namespace\":\"db\",\"name\":\"s\"}}");
	(void)kit_put(&kit, "/objects/scheduling.k8s.io/priorityclasses/high",
	              "{\"metadata\":{\"name\":\"high\"},\"value\":\"x\"}");
	finds(FSCK_OBJECT_MALFORMED, 2);
	mends_not();
}
