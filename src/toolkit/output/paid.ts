import { z } from 'zod'
import type { Made, Paid, SavedFile } from '../tool-context.ts'
import { sayLeft, sayUsd, usd } from '../values/amounts.ts'
import { untrustedId } from '../values/untrusted.ts'

/** An amount in USD; null if unknown. */
export const Usd = z.number().nullable()

/** Members of every paid tool's output. */
export const paidShape = {
  charged_usd: Usd,
  credit_left_usd: Usd,
  /** What the wallet may still pay today. */
  budget_left_usd: Usd,
  /** An earlier call paid for the result. */
  already_paid: z.boolean().optional(),
  /** What the wallet did in addition, or why this charge's signed receipt cannot be trusted. */
  warning: z.string().optional(),
}

type PaidOutput = z.output<z.ZodObject<typeof paidShape>>

export const paidOutput = (paid: Paid): PaidOutput => ({
  charged_usd: usd(paid.chargedMicroUsd),
  credit_left_usd: usd(paid.creditLeftMicroUsd),
  budget_left_usd: usd(paid.budgetLeftMicroUsd),
  ...(paid.isEarlierCall ? { already_paid: true } : {}),
  ...warningOf(paid),
})

function warningOf({ notes = [], receiptProblem }: Paid): { warning?: string } {
  const problem =
    receiptProblem === undefined
      ? []
      : [`${receiptProblem} The receipt is kept. Tell the user, who can check it in wallet_receipts.`]
  const sentences = [...notes, ...problem]
  return sentences.length > 0 ? { warning: sentences.join(' ') } : {}
}

/** Says what a call charged or a top-up paid, and what is left. */
export function sayPaid(paid: PaidOutput, verb: 'Charged' | 'Paid' = 'Charged'): string {
  const sentences = [paid.charged_usd === null ? 'Its cost is unknown.' : `${verb} ${sayUsd(paid.charged_usd)}.`]
  if (paid.already_paid) sentences.push('An earlier identical call paid for it; `again: true` buys another.')
  const left = sayLeft(paid.credit_left_usd, paid.budget_left_usd)
  if (left !== '') sentences.push(left)
  if (paid.warning !== undefined) sentences.push(paid.warning)
  return sentences.join(' ')
}

/** A file that a tool has saved. */
export const SavedFileOutput = z.object({ path: z.string(), mime_type: z.string(), bytes: z.number() })
type SavedFileOutput = z.output<typeof SavedFileOutput>

export const saySaved = ({ path, mime_type, bytes }: SavedFileOutput): string =>
  `Saved: ${path} (${mime_type}, ${bytes} bytes).`

/** The previews of images or audio that a call made; the files are in the output folder. */
export const MadeOutput = z.object({
  /** The model that the service names, or else the requested one; null if neither is known. */
  model: z.string().nullable(),
  files: z.array(SavedFileOutput),
  /** Whether the service's content policy blurred it. */
  is_blurred: z.boolean().optional(),
  ...paidShape,
})
export type MadeOutput = z.output<typeof MadeOutput>

export const madeOutput = ({ files, model, isBlurred, paid }: Made, asked: string | undefined): MadeOutput => ({
  model: untrustedId(model ?? asked ?? '') || null,
  files: files.map(savedFile),
  ...(isBlurred ? { is_blurred: true } : {}),
  ...paidOutput(paid),
})

const savedFile = ({ path, mimeType, bytes }: SavedFile): SavedFileOutput => ({
  path,
  mime_type: mimeType,
  bytes,
})

export const sayMade = (output: MadeOutput): string =>
  [
    ...output.files.map(saySaved),
    ...(output.model === null ? [] : [`Made by ${output.model}.`]),
    ...(output.is_blurred ? ['The service blurred content that violates its policy.'] : []),
    sayPaid(output),
  ].join('\n')

export const madeFiles = ({ files }: MadeOutput): { path: string; mimeType: string }[] =>
  files.map(({ path, mime_type }) => ({ path, mimeType: mime_type }))
