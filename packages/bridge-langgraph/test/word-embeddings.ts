import { Embeddings } from "@langchain/core/embeddings";

/** Embeds a text as the number of times that it has each word, of as many as there are dimensions. Counts the texts that it embeds. */
export class WordEmbeddings extends Embeddings {
  /** The texts of items that it has embedded. */
  readonly documents: string[] = [];
  readonly queries: string[] = [];
  readonly #dims: number;

  constructor(dims = 8) {
    super({});
    this.#dims = dims;
  }

  vectorOf(text: string): number[] {
    const vector: number[] = Array(this.#dims).fill(0);
    // No text is without a direction.
    vector[0] = 0.25;
    for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
      const place = [...word].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % this.#dims;
      vector[place] = (vector[place] ?? 0) + 1;
    }
    return vector;
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    this.documents.push(...texts);
    return texts.map((text) => this.vectorOf(text));
  }

  override async embedQuery(text: string): Promise<number[]> {
    this.queries.push(text);
    return this.vectorOf(text);
  }
}
