/** Pending approvals, as the wallet's owner decides on them at a terminal. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { openApprovals } from '#wallet/approvals/approvals.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { fileRecords } from '#wallet/records/open-records.ts'
import { openState } from '#wallet/records/state.ts'
import type { AskedAbout } from '#wallet/terms/about-call.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { canaryPassphrase } from '../canary/canaries.ts'
import { temporaryFolder, usd } from '../wallet/sample-wallet.ts'
import { atTerminal as run } from './at-terminal.ts'

/** A passphrase costs a third of a second, and more where others compute. */
vi.setConfig({ testTimeout: 60_000 })

const passphrase = canaryPassphrase

const consent: ApprovalFacts = {
  kind: 'consent',
  provider: 'demo',
  policyText: 'First line.\n\u001b[2JSecond line.',
  policyVersion: '3',
  docsUrl: 'https://service.example/policy',
  faceMediaRoles: ['image_url'],
}
const spend: ApprovalFacts = { kind: 'spend', what: 'A video', amountMicroUsd: usd(2), because: 'It costs more.' }

async function questionIn(data: string, facts: ApprovalFacts, about?: AskedAbout) {
  const records = fileRecords(openState(data), systemClock)
  const approvals = openApprovals(records, data)
  onTestFinished(() => records.close())
  const call = { origin: 'https://s.example', operation: null, address: null, about }
  const { approvalId: id } = await approvals.ask(facts, `request ${about?.prompt}`, call)
  return { id, state: async () => (await approvals.get(id))?.state }
}

const answers: [what: string, ApprovalFacts, typed: string[], flags: string[], state: string][] = [
  ['three times yes', consent, ['yes', 'Yes', 'yes'], [], 'approved'],
  ['two times yes', consent, ['yes', 'yes', 'no'], [], 'denied'],
  ['a letter, and then the word', spend, ['y', 'n', 'yes'], [], 'approved'],
  ['an empty line', spend, [''], [], 'denied'],
  ['yes', spend, ['yes'], [], 'approved'],
  ['a flag', spend, [], ['--deny'], 'denied'],
]

test.each(answers)('approve with %s', async (_, facts, typed, flags, state) => {
  const data = temporaryFolder()
  const question = await questionIn(data, facts)
  const answered = await run(['approve', question.id, '--data', data, ...flags], typed)
  expect(await question.state()).toBe(state)
  if (facts.kind === 'consent') expect(answered.stdout).toContain('First line.\n⟨U+001B⟩[2JSecond line.')
  expect(answered.stdout).toMatch(
    state === 'approved' ? /until .* UTC, in / : /is refused until .* UTC, in .* To reverse the denial, run /s,
  )
  if (state === 'approved')
    expect((await run(['approve', question.id, '--data', data], ['yes'])).stderr).toContain('is already approved')
})

test('approve needs a terminal', async () => {
  const data = temporaryFolder()
  const question = await questionIn(data, spend)
  const piped = await run(['approve', question.id, '--data', data])
  expect(piped).toMatchObject({ code: 1, stderr: expect.stringContaining('needs a terminal') })
  expect(await question.state()).toBe('pending')
})

test.each([
  ['the right passphrase', [passphrase], 0, 'approved'],
  ['a wrong one', ['not the passphrase'], 1, 'pending'],
  ['an empty one', [''], 1, 'pending'],
])('approval for a wallet with a key file needs its passphrase: %s', async (_, typed, code, state) => {
  const data = temporaryFolder()
  await createKeyFile(data, passphrase)
  const question = await questionIn(data, spend)
  const answered = await run(['approve', question.id, '--data', data], ['yes', ...typed])
  expect(answered.code).toBe(code)
  expect(`${answered.stdout}${answered.stderr}`).not.toContain(passphrase)
  expect(await question.state()).toBe(state)
})

test('a denial takes no passphrase', async () => {
  const data = temporaryFolder()
  await createKeyFile(data, passphrase)
  const question = await questionIn(data, spend)
  expect((await run(['approve', question.id, '--data', data, '--deny'], [])).code).toBe(0)
  expect(await question.state()).toBe('denied')
})

describe('a denial', () => {
  test.each([
    ['is taken back by a yes, after it was said', ['yes'], 'approved', 0],
    ['stands where it is not', ['no'], 'denied', 1],
  ])('%s', async (_, typed, state, code) => {
    const data = temporaryFolder()
    const question = await questionIn(data, spend)
    await run(['deny', question.id, '--data', data], [])
    const again = await run(['approve', question.id, '--data', data], typed)
    expect(again).toMatchObject({
      code,
      stdout: expect.stringMatching(/^You denied this .* Approving it now reverses that/),
    })
    expect(await question.state()).toBe(state)
  })

  test('is reversed only with the passphrase, and is listed until then', async () => {
    const data = temporaryFolder()
    await createKeyFile(data, passphrase)
    const question = await questionIn(data, spend)
    await run(['deny', '--data', data], [])
    expect((await run(['approve', question.id, '--data', data], ['yes', 'another one'])).code).toBe(1)
    expect(await question.state()).toBe('denied')
    expect((await run(['status', '--data', data])).stdout).toMatch(
      new RegExp(`denied, can be reversed: A video for 2.00 USD; until .*wallet approve ${question.id}`),
    )
    await run(['approve', question.id, '--data', data], ['yes', passphrase])
    expect(await question.state()).toBe('approved')
    expect((await run(['status', '--data', data])).stdout).not.toContain('taken back')
  })

  test('cannot be repeated', async () => {
    const data = temporaryFolder()
    const question = await questionIn(data, spend)
    await run(['deny', question.id, '--data', data], [])
    const twice = await run(['deny', question.id, '--data', data], [])
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('is already denied, until') })
  })
})

describe('without an id', () => {
  test('the only pending one is decided', async () => {
    const data = temporaryFolder()
    expect((await run(['approve', '--data', data], [])).stderr).toContain('Nothing is pending.')
    const question = await questionIn(data, spend)
    expect(await run(['approve', '--data', data], ['yes'])).toMatchObject({ code: 0 })
    expect(await question.state()).toBe('approved')
  })

  test('of two, one distinct line each is listed, and nothing is decided', async () => {
    const data = temporaryFolder()
    const about = { tool: 'video_create', model: 'm', moreFiles: 0, mostMicroUsd: usd(2) }
    const kites = await questionIn(data, spend, { ...about, prompt: 'A kite', files: [{ name: 'kite.png', bytes: 9 }] })
    const dogs = await questionIn(data, spend, { ...about, prompt: 'A dog', files: [] })
    const listed = await run(['approve', '--data', data], ['yes'])
    expect(listed).toMatchObject({ code: 2, stderr: expect.stringContaining('2 requests are pending.') })
    const line = (told: string, id: string) =>
      new RegExp(`^A video for at most 2.00 USD; ${told}; until .* UTC, in .*: .*wallet approve ${id}`, 'm')
    expect(listed.stdout).toMatch(line('video_create at s.example; “A dog”', dogs.id))
    expect(listed.stdout).toMatch(line('video_create at s.example; kite.png \\(9 bytes\\); “A kite”', kites.id))
    expect(await Promise.all([kites.state(), dogs.state()])).toEqual(['pending', 'pending'])
    // The letters after the mark are enough.
    expect((await run(['approve', dogs.id.replace('ask_', ''), '--data', data], ['yes'])).stdout).toContain('“A dog”')
    expect(await Promise.all([kites.state(), dogs.state()])).toEqual(['pending', 'approved'])
  })
})
