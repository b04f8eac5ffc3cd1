import { parseJson } from '#contract/wire/json.ts'
import { type PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import { CliError } from '../cli-error.ts'
import { offerBytes, offerTimeoutMs } from './limits.ts'

/** Asks a service what it takes for a top-up (brief §4.1: a POST without a payment is answered 402). No redirect is followed. */
export async function readOffer(serviceUrl: string): Promise<readonly PaymentOption[]> {
  const url = `${serviceUrl.replace(/\/+$/, '')}/x402/top-up`
  const text = await fetchOffer(url)
  const json = parseJson(text, 16)
  const offer = TopUpRequired.safeParse(json.ok ? json.value : undefined)
  if (offer.success) return offer.data.accepts
  throw new CliError(`${url} does not answer as a service of this contract.`, 'Check the address; it ends in /api/v1.')
}

async function fetchOffer(url: string): Promise<string> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(offerTimeoutMs),
    })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length
      if (bytes > offerBytes) break
      chunks.push(chunk)
    }
    return response.status === 402 ? Buffer.concat(chunks).toString() : ''
  } catch {
    throw new CliError(`${url} cannot be reached.`, 'Check the address, and whether the service runs.')
  }
}
