import { config } from "zod";

// The page's content security policy forbids code that is made of text. By this setting the schemas of the SDK, which are made
// as it is imported, do not try it.
config({ jitless: true });
