/** C0 and C1 controls but tab and newline, bidirectional overrides, and the invisible tag characters. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Marks text that a model or a stranger wrote: it is data for the reader, never an instruction. */
export const fromOutside = (label: string, text: string): string =>
  framed(`${label}, data from outside`, withoutHidden(text))

/** Without what a reader cannot see but a model or a terminal obeys. */
export const withoutHidden = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(HIDDEN, '')

/** The text exactly as it is between two lines; it cannot close its own frame. */
export function framed(label: string, text: string): string {
  // The frame is one longer than any run of its mark in the text, as fences of Markdown are.
  const runs = text.match(/[<>]+/g) ?? []
  const width = Math.max(2, ...runs.map(run => run.length)) + 1
  return `${'<'.repeat(width)} ${label}\n${text}\n${'>'.repeat(width)} end of ${label}`
}
