import { styleText } from 'node:util'
import type { Output } from '../output.ts'

/** The meaning of each colour. The words say the same, for pipes and terminals without colours. */
const tones = { heading: 'bold', faint: 'dim', good: 'green', caution: 'yellow', bad: 'red', accent: 'cyan' } as const

export type Tone = keyof typeof tones

/** Colours a text for stdout, if stdout takes colours. */
export type Paint = (tone: Tone, text: string) => string

export const paintFor =
  ({ isColoured }: Pick<Output, 'isColoured'>): Paint =>
  (tone, text) =>
    isColoured && text !== '' ? styleText(tones[tone], text, { validateStream: false }) : text
