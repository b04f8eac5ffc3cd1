/** These keep their capital within a sentence; words with a second capital, such as PostgreSQL, always do. */
const names: ReadonlySet<string> = new Set(['Base', 'Flite', 'Node', 'Redis', 'Solana', 'Valkey', 'Windows'])

/** Formats a sentence for use after a colon or within another: "The node is down." becomes "the node is down". */
export const asClause = (sentence: string): string => lowered(sentence).replace(/\.$/, '')

/** The same for several sentences, of which the last keeps its full stop. */
export const lowered = (sentence: string): string =>
  sentence.replace(/^\p{Lu}\p{Ll}*(?=\s)/u, word => (names.has(word) || word === 'I' ? word : word.toLowerCase()))
