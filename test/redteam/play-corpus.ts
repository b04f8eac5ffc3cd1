import type { ServerResponse } from 'node:http'
import type { Clock } from '#contract/time.ts'
import { answer, type HostileHosts, hostileHosts, type SeenRequest } from './hostile-hosts.ts'
import type { Challenge, Scenario } from './scenario.ts'

const paymentNames = ['payment-signature', 'x-402-payment', 'x-payment']

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** Plays one scenario as its facts tell; everything that is not told is 404. */
export async function playCorpus(
  { answers, rail }: Pick<Scenario, 'answers' | 'rail'>,
  clock: Clock,
): Promise<HostileHosts> {
  const payments = new Map<string, number>()
  const local = (text: string) => text.replaceAll(/http:\/\/([a-z0-9.-]+\.test)/g, (_, host) => hosts.url(host, ''))
  const urlOf = (place: string) => local(`http://${place}`)

  const challenge = (response: ServerResponse, place: string, { accepts, resource, more }: Challenge) => {
    const header = { x402Version: 2, resource: { url: urlOf(resource ?? place) }, accepts }
    answer(
      response,
      402,
      { x402Version: 2, error: 'Payment required', accepts, ...more },
      { 'payment-required': base64(header) },
    )
  }

  const paid = (response: ServerResponse, place: string, asked: Challenge) => {
    const count = (payments.get(place) ?? 0) + 1
    payments.set(place, count)
    const { paid: then = 'delivery' } = asked
    if (then === '402 forever' || (then === 'replay' && count > 1)) return challenge(response, place, asked)
    const receipt = { success: true, transaction: '0xabc', network: rail, payer: 'p' }
    const headers = { 'payment-response': base64(receipt) }
    answer(response, 200, then === 'no delivery' ? '' : { report: 'delivered' }, headers)
  }

  const hosts = await hostileHosts(clock, (seen, response) => {
    const place = `${seen.host}${seen.path}`
    const told = answers[place]
    if (!told) return answer(response, 404, { error: 'no such path' })
    if (told.kind === 'page') return answer(response, 200, local(told.html))
    if (told.kind === 'redirect') return answer(response, 302, '', { location: urlOf(told.to) })
    return hasPayment(seen) ? paid(response, place, told) : challenge(response, place, told)
  })
  return hosts
}

const hasPayment = ({ headers }: SeenRequest): boolean => paymentNames.some(name => headers[name] !== undefined)
