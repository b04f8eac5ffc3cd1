import { describe, expect, onTestFinished, test } from 'vitest'
import { Client } from '#client/client.ts'
import { TopUpClient } from '#client/top-up.ts'
import { answerJson, littleServer } from './little-server.ts'

async function sentTo(status: number, reason: string | undefined, error = 'X402_INVALID_PAYMENT') {
  const body = { error, message: 'no', ...(reason ? { details: { reason } } : {}) }
  const server = await littleServer((_, response) => answerJson(response, status, body))
  const client = new Client({ baseUrl: server.baseUrl, credential: null })
  onTestFinished(server.close)
  onTestFinished(() => client.close())
  return new TopUpClient(client).send('signed')
}

describe('a nonce of ours that is used was used by this very payment: the money may have left', () => {
  test.each([
    'nonce_used',
    'nonce_already_used',
    'invalid_exact_evm_nonce_already_used',
    'authorization_used',
    'NONCE_ALREADY_BEEN_USED',
    'transaction_already_processed',
    'already_settled',
  ])('%s leaves its outcome open', async reason => {
    expect(await sentTo(400, reason)).toEqual({ kind: 'unknown', reason: '400 nonce used' })
  })
})

test.each(['insufficient_funds', 'nonce_missing', 'try_again_with_a_new_nonce', 'unused', undefined])(
  'a no for another reason, %s, is a no',
  async reason => {
    const rejected = { kind: 'rejected', status: 400, reason: reason ?? 'X402_INVALID_PAYMENT' }
    expect(await sentTo(400, reason)).toEqual(rejected)
  },
)

test.each(['X402_SETTLEMENT_PENDING', 'X402_TOP_UP_FAILED'])('a 500 of %s leaves its outcome open', async error => {
  expect(await sentTo(500, undefined, error)).toEqual({ kind: 'unknown', reason: `500 ${error}` })
})
