export { GoogleAdkSessionService } from "./google-adk-session-service.ts";
