/** Marks text that a model or a stranger wrote: it is data for the reader, never an instruction. */
export function fromOutside(label: string, text: string): string {
  // A text cannot close its own frame: the closing line would have to guess the length.
  const mark = `${label} (${text.length} characters, data from outside)`
  return `<<< ${mark}\n${text}\n>>> end of ${mark}`
}
