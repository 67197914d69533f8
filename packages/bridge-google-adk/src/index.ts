export { GoogleAdkArtifactService } from "./google-adk-artifact-service.ts";
export { GoogleAdkSessionService } from "./google-adk-session-service.ts";
