import { randomBytes } from 'node:crypto'
import { type Operation, readsKey } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { evmWallet } from '../access/identity/signed-header.ts'
import type { OpenedService } from './open-service.ts'

const bodies: readonly [sent: string, body: string][] = [
  ['an empty object', '{}'],
  ['half a body', '{"model":'],
  ['an unknown model', '{"model":"none","prompt":"x","input":"x","duration":"5s","messages":[]}'],
]

/** Every operation with requests that most of them refuse, each for another reason. */
export const walkedRequests = (operations as readonly Operation[]).flatMap(operation => {
  const sent: readonly (readonly [string, string | undefined])[] = operation.request.body
    ? bodies
    : [['nothing', undefined]]
  return sent.map(([name, body]) => [operation.id, name, operation, body] as const)
})

/** Sends one of them, identified where the operation reads a credential. */
export async function walk(service: OpenedService, key: string, operation: Operation, body: string | undefined) {
  // Failures of a walk must not block it.
  service.clock.pass(60_000)
  const path = `/api/v1${operation.path.replace(/\{\w+\}/g, 'nothing')}`
  const type = operation.request.bodyTypes?.includes('json') === false ? 'text/plain' : 'application/json'
  return service.request(path, {
    method: operation.method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': type }),
      ...(await credential(service, key, operation, path)),
    },
    ...(body === undefined ? {} : { body }),
  })
}

async function credential(
  service: OpenedService,
  key: string,
  operation: Operation,
  path: string,
): Promise<Record<string, string>> {
  if (readsKey(operation)) return { authorization: `Bearer ${key}` }
  if (!operation.auth.includes('wallet')) return {}
  const signIn = await evmWallet().header({
    domain: '127.0.0.1:8402',
    uri: `http://127.0.0.1:8402${path}`,
    chain: '8453',
    nonce: randomBytes(8).toString('hex'),
    issuedAt: new Date(service.clock.now()).toISOString(),
  })
  return { 'sign-in-with-x': signIn }
}
