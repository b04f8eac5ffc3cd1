export interface HeardWord {
  word: string
  /** Seconds from the beginning. */
  start: number
  end: number
}

/** A line of the program: a word, where it begins and ends, and how sure it is. Marks of silence and noise are no words. */
const wordLine = /^(\S+) (\d+\.\d+) (\d+\.\d+) \d+\.\d+$/
const noise = /^(<.*>|\[.*\]|\+\+.*\+\+)$/

/** What was heard, in the order in which it was said; a word that is said in another way than usual ends with `(2)`. */
export function readHeard(output: string): { text: string; words: HeardWord[] } {
  const words = output.split('\n').flatMap(line => {
    const [, word = '', start, end] = wordLine.exec(line.trim()) ?? []
    if (!word || noise.test(word)) return []
    return [{ word: word.replace(/\(\d+\)$/, ''), start: Number(start), end: Number(end) }]
  })
  return { text: words.map(({ word }) => word).join(' '), words }
}
