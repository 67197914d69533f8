/**
 * Converts messages of LangChain to Scrollback's messages and back.
 *
 * @packageDocumentation
 */

export { fromLangChainMessages } from "./from-langchain-messages.ts";
export { toLangChainMessages } from "./to-langchain-messages.ts";
