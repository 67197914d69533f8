export { fromLangChainMessages } from "./from-langchain-messages.ts";
export { toLangChainMessages } from "./to-langchain-messages.ts";
