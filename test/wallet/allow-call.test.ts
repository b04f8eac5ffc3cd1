import { expect, test } from 'vitest'
import { allowCall } from '#wallet/approvals/allow-call.ts'
import { fileRecords } from '#wallet/records/open-records.ts'
import { openState } from '#wallet/records/state.ts'
import { NeedsApproval } from '#wallet/terms/approval.ts'
import { sampleWallet, usd } from './sample-wallet.ts'

/** A wallet, and calls of 2 USD by default, each a separate attempt by default. */
async function setUp() {
  const sample = await sampleWallet()
  const { wallet, folder, clock } = sample
  const state = openState(folder)
  const rules = { policy: wallet.policy, state, records: fileRecords(state, clock), approvals: wallet.approvals }
  let attempts = 0
  const outcome = async ({ quotedMicroUsd = usd(2), requestHash = 'request', by = `call ${++attempts}` } = {}) => {
    try {
      await allowCall(rules, { what: 'A video', quotedMicroUsd }, { requestHash, by })
      return 'allowed'
    } catch (error) {
      return error
    }
  }
  const agree = async () => {
    const { approval: question } = (await outcome()) as NeedsApproval
    await wallet.approvals.resolve(question.approvalId, { isApproved: true, by: 'dialogue' })
    return question.approvalId
  }
  const dispose = () => {
    state.close()
    sample.dispose()
  }
  return { ...sample, outcome, agree, dispose }
}

test('an unused yes runs out', async () => {
  const { outcome, agree, clock, dispose } = await setUp()
  await agree()
  clock.advance(30 * 60_000)
  expect(await outcome()).toBeInstanceOf(NeedsApproval)
  dispose()
})

test('a yes to one call is no yes to another, and serves once', async () => {
  const { outcome, agree, wallet, dispose } = await setUp()
  const id = await agree()
  expect(await outcome({ requestHash: 'other' })).toBeInstanceOf(NeedsApproval)
  expect(await outcome({ quotedMicroUsd: usd(3) })).toBeInstanceOf(NeedsApproval)
  expect(await outcome({ by: 'call x' })).toBe('allowed')
  expect((await wallet.approvals.get(id))?.usedBy).toBe('call x')
  expect(await outcome()).toBeInstanceOf(NeedsApproval)
  dispose()
})

test('only the attempt that used a yes gives it back', async () => {
  const { outcome, agree, wallet, dispose } = await setUp()
  await agree()
  expect(await outcome({ by: 'the one that bought' })).toBe('allowed')
  expect(await outcome({ by: 'the one that was asked' })).toBeInstanceOf(NeedsApproval)
  await wallet.approvals.giveBack('the one that was asked')
  expect(await outcome()).toBeInstanceOf(NeedsApproval)
  await wallet.approvals.giveBack('the one that bought')
  expect(await outcome()).toBe('allowed')
  dispose()
})
