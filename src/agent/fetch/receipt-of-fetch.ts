import { answerBytes } from '#client/limits.ts'
import { answerHeaders } from '#client/wire/answer-headers.ts'
import { copiedBody } from '#client/wire/body.ts'
import type { WireResponse } from '#client/wire/wire.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import { wantReceipt } from '#contract/wire/headers.ts'
import { isJsonMediaType } from '#contract/wire/media-type.ts'
import type { ReceiptDesk } from '../receipts/receipt-desk.ts'
import type { AllowedRequest } from './allow-request.ts'
import type { ProgramRequest } from './program-request.ts'

/** Whether what a program calls is charged, so that its receipt is worth keeping. */
export const isReceipted = (operation: Operation | null): operation is Operation =>
  operation !== null && isPaid(operation)

/** The same request, asking for the receipt with the answer as a tool's call does. */
export const wantingReceipt = (request: ProgramRequest): ProgramRequest => ({
  ...request,
  headers: { ...request.headers, [wantReceipt.name]: wantReceipt.format(true) },
})

/**
 * The answer as it passes to the program; when that has read it, its receipt is kept. Of a stream, whose receipt comes
 * later, it is kept that there was one.
 */
export function withReceiptKept(
  receipts: ReceiptDesk,
  { attempt, operation, price }: AllowedRequest & { operation: Operation },
  response: WireResponse,
  clock: Clock,
): WireResponse {
  if (!price) return response
  const headers = answerHeaders(response.headers, clock.now())
  const keep = (answer: unknown, comesLater: boolean) =>
    receipts.keep(attempt, operation, { answer: answer as never, headers }, price, { comesLater })
  if (isJsonMediaType(response.headers.get('content-type') ?? undefined))
    return copiedBody(response, answerBytes, body => keep(body && jsonOf(body), false))
  keep(null, true)
  return response
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString())
  } catch {
    return null
  }
}
