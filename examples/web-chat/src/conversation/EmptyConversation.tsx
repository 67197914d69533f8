const SUGGESTIONS = [
  { text: "Which tram goes to the harbour?", note: "A short answer with a table" },
  { text: "How is this chat stored?", note: "A longer one, with code" },
  { text: "Plan a weekend for me", note: "Asks you a question first" },
  { text: "Delete draft.txt", note: "Needs your approval" },
];

export function EmptyConversation({ onSuggest }: { readonly onSuggest: (text: string) => void }) {
  return (
    <div className="empty">
      <h2>What would you like to know?</h2>
      <p>Reload, close the tab or stop the server in the middle of an answer: the chat is kept.</p>
      <ul>
        {SUGGESTIONS.map(({ text, note }) => (
          <li key={text}>
            <button type="button" className="suggestion" onClick={() => onSuggest(text)}>
              <span>{text}</span>
              <small>{note}</small>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
