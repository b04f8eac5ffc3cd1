import { expect, test } from 'vitest'
import { allowCall } from '#wallet/allow-call.ts'
import { NeedsApproval } from '#wallet/needs-approval.ts'
import { sampleWallet, usd } from './sample-wallet.ts'

/** A wallet, and calls of 2 USD unless told, each an attempt of its own unless told. */
async function setUp() {
  const sample = await sampleWallet()
  const { wallet, folder } = sample
  const rules = { policy: wallet.policy, state: { folder }, approvals: wallet.approvals }
  let attempts = 0
  const outcome = ({ quotedMicroUsd = usd(2), requestHash = 'request', by = `call ${++attempts}` } = {}): unknown => {
    try {
      allowCall(rules, { what: 'A video', quotedMicroUsd }, { requestHash, by })
      return 'allowed'
    } catch (error) {
      return error
    }
  }
  const agree = () => {
    const { question } = outcome() as NeedsApproval
    wallet.approvals.resolve(question.approvalId, { isApproved: true, by: 'dialogue' })
    return question.approvalId
  }
  return { ...sample, outcome, agree }
}

test('an unused yes runs out', async () => {
  const { outcome, agree, clock, dispose } = await setUp()
  agree()
  clock.advance(30 * 60_000)
  expect(outcome()).toBeInstanceOf(NeedsApproval)
  dispose()
})

test('a yes to one call is no yes to another, and serves once', async () => {
  const { outcome, agree, wallet, dispose } = await setUp()
  const id = agree()
  expect(outcome({ requestHash: 'other' })).toBeInstanceOf(NeedsApproval)
  expect(outcome({ quotedMicroUsd: usd(3) })).toBeInstanceOf(NeedsApproval)
  expect(outcome({ by: 'call x' })).toBe('allowed')
  expect(wallet.approvals.get(id)?.usedBy).toBe('call x')
  expect(outcome()).toBeInstanceOf(NeedsApproval)
  dispose()
})

test('only the attempt that used a yes gives it back', async () => {
  const { outcome, agree, wallet, dispose } = await setUp()
  agree()
  expect(outcome({ by: 'the one that bought' })).toBe('allowed')
  expect(outcome({ by: 'the one that was asked' })).toBeInstanceOf(NeedsApproval)
  wallet.approvals.giveBack('the one that was asked')
  expect(outcome()).toBeInstanceOf(NeedsApproval)
  wallet.approvals.giveBack('the one that bought')
  expect(outcome()).toBe('allowed')
  dispose()
})

test('an assistant in a loop cannot fill the list of questions', async () => {
  const { outcome, dispose } = await setUp()
  for (let n = 0; n < 50; n++) expect(outcome({ requestHash: `request ${n}` })).toBeInstanceOf(NeedsApproval)
  expect(outcome({ requestHash: 'request 50' })).toMatchObject({ rule: 'too-many-questions' })
  dispose()
})
