import { request } from 'node:http'
import { quotedCharacters, requestMs } from './bounds.ts'
import { newAddress } from './new-address.ts'

export interface TwinAnswer {
  /** 0 where the connection broke before there was an answer. */
  status: number
  text: string
  /** The header that tells what was settled; empty where there is none. */
  settlement: string
}

/** One request on a connection of its own. */
export const sendTwin = (url: string, [name, value]: [string, string]): Promise<TwinAnswer> =>
  new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { [name]: value },
      localAddress: newAddress(),
      agent: false,
      signal: AbortSignal.timeout(requestMs),
    } as const
    const outgoing = request(url, options, async response => {
      try {
        const chunks: Buffer[] = []
        for await (const chunk of response) chunks.push(chunk)
        const settlement = String(response.headers['payment-response'] ?? '')
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), settlement })
      } catch (error) {
        reject(error)
      }
    })
    outgoing
      .on('error', error => {
        // On a busy machine a connection may break; whoever sent it comes again, as after any lost answer.
        if ('code' in error && error.code === 'ECONNRESET') resolve({ status: 0, text: '', settlement: '' })
        else reject(error)
      })
      .end()
  })

const mayComeAgain = ['X402_SETTLEMENT_PENDING', 'X402_TOP_UP_FAILED']

/** What is wrong with an answer to a good payment: anything but its credit, and the request to send the same one again. */
export function wrongAnswer({ status, text }: TwinAnswer): string | null {
  if (status === 200 || status === 0) return null
  const quoted = `${status} ${text.slice(0, quotedCharacters)}`
  if (status !== 500) return `A good payment was answered with ${quoted}`
  const body = JSON.parse(text) as { error?: string; details?: { retry?: string } }
  const isWell = mayComeAgain.includes(body.error ?? '') && body.details?.retry === 'same-payload'
  return isWell ? null : `A good payment was not told to be sent again: ${quoted}`
}
