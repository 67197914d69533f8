export {
  type GoogleAdkSession,
  GoogleAdkSessionService,
  type GoogleAdkSessionServiceOptions,
} from "./google-adk-session-service.ts";
