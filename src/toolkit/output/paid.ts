import { z } from 'zod'
import type { Made, Paid, SavedFile } from '../tool-context.ts'
import { sayUsd, usd } from '../values/amounts.ts'
import { untrustedId } from '../values/untrusted.ts'

/** An amount in USD; null where it is not known. */
export const Usd = z.number().nullable()

/** What the output of every paid tool says. */
export const paidShape = {
  charged_usd: Usd,
  credit_left_usd: Usd,
  /** What the wallet may still pay today. */
  budget_left_usd: Usd,
  /** The result was paid for by an earlier call. */
  already_paid: z.boolean().optional(),
  /** What the wallet did beside it, and why the signed receipt of this charge cannot be trusted. */
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
      : [`${receiptProblem} It is kept. Tell the user, who can check it in wallet_receipts.`]
  const sentences = [...notes, ...problem]
  return sentences.length > 0 ? { warning: sentences.join(' ') } : {}
}

export function sayPaid(paid: PaidOutput): string {
  const sentences = [paid.charged_usd === null ? 'Its cost is unknown.' : `Charged ${sayUsd(paid.charged_usd)}.`]
  if (paid.already_paid) sentences.push('An earlier identical call paid for it; `again: true` buys another.')
  if (paid.credit_left_usd !== null) sentences.push(`Credit left: ${sayUsd(paid.credit_left_usd)}.`)
  if (paid.budget_left_usd !== null) sentences.push(`The wallet may still pay ${sayUsd(paid.budget_left_usd)} today.`)
  if (paid.warning !== undefined) sentences.push(paid.warning)
  return sentences.join(' ')
}

const File = z.object({ path: z.string(), mime_type: z.string(), bytes: z.number() })

/** What tools show of images or audio that a call made; the files themselves lie in the output folder. */
export const MadeOutput = z.object({
  /** The one that the service names, else the one that was asked for; null where neither is. */
  model: z.string().nullable(),
  files: z.array(File),
  /** By the service's content policy. */
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

const savedFile = ({ path, mimeType, bytes }: SavedFile): z.output<typeof File> => ({
  path,
  mime_type: mimeType,
  bytes,
})

export const sayMade = (output: MadeOutput): string =>
  [
    ...output.files.map(({ path, mime_type, bytes }) => `Saved: ${path} (${mime_type}, ${bytes} bytes).`),
    ...(output.is_blurred ? ['The service blurred content that violates its policy.'] : []),
    sayPaid(output),
  ].join('\n')

export const madeFiles = ({ files }: MadeOutput): { path: string; mimeType: string }[] =>
  files.map(({ path, mime_type }) => ({ path, mimeType: mime_type }))
