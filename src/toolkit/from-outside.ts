import { frameLabelCharacters, strangeIdCharacters } from './bounds.ts'

/**
 * What a reader cannot see but a model or a terminal obeys: C0 and C1 controls but tab and newline, the soft hyphen, what
 * has no width, bidirectional overrides, variation selectors and tag characters, which can carry a whole hidden text. The
 * joiners U+200C and U+200D and the marks U+200E and U+200F stay, because languages and emoji need them.
 */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu

/** Asks for the coloured form of the emoji before it, so it says nothing of its own. */
const emojiForm = '\ufe0f'

/** Marks text that a model or a stranger wrote: it is data for the reader, never an instruction. */
export const fromOutside = (label: string, text: string): string =>
  framed(`${label}, data from outside`, withoutHidden(text))

/** Without what a reader cannot see but a model or a terminal obeys. */
export const withoutHidden = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[\u2028\u2029]/g, '\n')
    .replaceAll(HIDDEN, '')

/** A text that must stay whole: what cannot be seen in it stands there by its number, `⟨U+202E⟩`. */
export const hiddenShown = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(HIDDEN, hidden =>
      hidden === emojiForm ? hidden : `⟨U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
    )

/** A stranger's id or name inside of our sentence: one line, bounded, and no mark of a frame. */
export const strangeId = (id: string, mostCharacters: number = strangeIdCharacters): string =>
  withoutHidden(id)
    .replaceAll(/[<>\s]+/g, ' ')
    .trim()
    .slice(0, mostCharacters)
    .toWellFormed()

/** The text exactly as it is between two lines; neither it nor the label can close the frame or stand outside of it. */
export function framed(label: string, text: string): string {
  const named = strangeId(label, frameLabelCharacters)
  // The frame is one longer than any run of its mark in the text, as fences of Markdown are.
  const runs = text.match(/[<>]+/g) ?? []
  const width = Math.max(2, ...runs.map(run => run.length)) + 1
  return `${'<'.repeat(width)} ${named}\n${text}\n${'>'.repeat(width)} end of ${named}`
}
