import { config } from "zod";

// The page's content security policy forbids code from strings. With this setting the SDK's schemas, which are created on
// import, do not generate code.
config({ jitless: true });
