import { onRedisCluster } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { declareBackendTests } from "./backends.ts";

onRedisCluster(declareBackendTests);
