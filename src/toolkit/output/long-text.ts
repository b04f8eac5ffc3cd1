import { z } from 'zod'
import { answerCharacters, extractCharacters } from '../bounds.ts'
import type { ToolContext } from '../tool-context.ts'
import { fromOutside, isData, withoutHidden } from '../values/untrusted.ts'
import { SavedFileOutput } from './paid.ts'

/** An untrusted text in a tool's output. */
export const longTextShape = {
  text: z.string(),
  text_is: z.literal(isData),
  /** How many characters are not shown. */
  cut_characters: z.number(),
  /** Where a longer text is saved whole; null if all of it is shown, or it could not be saved. */
  whole_text: SavedFileOutput.nullable(),
}

type LongText = z.output<z.ZodObject<typeof longTextShape>>

/**
 * Returns as much of a text as a model can read at once. A longer text is saved whole, because it was paid for. If that
 * fails, its beginning is still returned, for the same reason.
 */
export async function longText({ files }: Pick<ToolContext, 'files'>, text: string, name: string): Promise<LongText> {
  const whole = withoutHidden(text)
  const isCut = whole.length > answerCharacters
  const saved = isCut ? await files.saveText(whole, name).catch(() => null) : null
  const shown = whole.slice(0, saved ? extractCharacters : answerCharacters).toWellFormed()
  return {
    text: shown,
    text_is: isData,
    cut_characters: whole.length - shown.length,
    whole_text: saved && { path: saved.path, mime_type: saved.mimeType, bytes: saved.bytes },
  }
}

export const sayLongText = (label: string, { text, cut_characters, whole_text }: LongText): string =>
  [
    fromOutside(label, text),
    ...(cut_characters > 0
      ? [`${cut_characters} more characters are not shown; the whole text ${whereItIs(whole_text)}.`]
      : []),
  ].join('\n')

const whereItIs = (saved: LongText['whole_text']): string =>
  saved ? `is saved: ${saved.path} (${saved.mime_type}, ${saved.bytes} bytes)` : 'could not be saved'

export const filesOfText = ({ whole_text }: Pick<LongText, 'whole_text'>): { path: string; mimeType: string }[] =>
  whole_text ? [{ path: whole_text.path, mimeType: whole_text.mime_type }] : []
