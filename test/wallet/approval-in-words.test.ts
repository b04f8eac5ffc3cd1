/** The words of an approval request: no untrusted words can be mistaken for ours. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as limits from '#wallet/limits.ts'
import { type AskedAbout, named, quoted, readAbout, writeAbout } from '#wallet/terms/about-call.ts'
import { type ApprovalFacts, approvalSummary, requestWords } from '#wallet/terms/approval.ts'
import { payTo, usd } from './sample-wallet.ts'

const spend = { kind: 'spend', what: 'A video of 5s by m.', amountMicroUsd: usd(2), because: 'It costs more.' } as const
const payee = {
  kind: 'payee',
  origin: 'https://x.example',
  network: 'n',
  asset: 'a',
  payTo,
  amountMicroUsd: usd(5),
} as const
const consent = {
  kind: 'consent',
  provider: 'demo',
  policyVersion: 'v1',
  policyText: 'x',
  docsUrl: 'y',
  faceMediaRoles: [],
} as const
const about: AskedAbout = {
  tool: 'video_create',
  model: 'm',
  prompt: 'A kite over the sea.',
  files: [
    { name: 'kite.png', bytes: 1_240_000 },
    { name: '/home/ada/my face.jpg', bytes: 300_400 },
    { name: 'sound.mp3', bytes: 90 },
  ],
  moreFiles: 0,
  mostMicroUsd: usd(0.42),
}
const origin = 'https://x.example'
const context = { about, origin, command: 'farebox wallet approve ask_1' }
const told = 'video_create at x.example; kite.png (1.2 MB), “/home/ada/my face.jpg” (300 kB), and 1 more'

test.each<[ApprovalFacts, AskedAbout | null, string]>([
  [spend, null, 'A video of 5s by m for 2.00 USD'],
  [{ ...spend, amountMicroUsd: null }, null, 'A video of 5s by m, at an unknown price'],
  [payee, null, `5.00 USD to a new address, ${payTo}`],
  [consent, null, 'the policy of demo, version v1'],
  [{ ...consent, policyVersion: `v1\u001b[2J\n${'x'.repeat(200)}` }, null, 'the policy of demo, version “v1 [2J…”'],
  [spend, about, `A video of 5s by m for at most 2.00 USD; ${told}; “A kite over the sea.”`],
  [
    consent,
    about,
    `the policy of demo, version v1 for at most 0.42 USD; ${told.replace(' at', ' with m at')}; “A kite over the sea.”`,
  ],
  [
    { ...spend, amountMicroUsd: null },
    { ...about, tool: null, prompt: 'as many words as there are in a page of text', files: [] },
    'A video of 5s by m, at an unknown price; a request from a program at x.example; “as many words as there are in a page of text”',
  ],
])('a question in short: $2', (facts, asked, said) => {
  expect(approvalSummary(facts, { about: asked, origin })).toBe(said)
})

test('every kind states what, who, how much, and the consequences of either decision', () => {
  const lines = (facts: ApprovalFacts) => {
    const { question, why, details, ifApproved, ifDenied } = requestWords(facts, context)
    return [question, why, ...details.map(({ name, value }) => `${name}: ${value}`), ifApproved, ifDenied]
  }
  const call = [
    'Tool: video_create',
    'Model: m',
    'Prompt (quoted): “A kite over the sea.”',
    'Files: kite.png (1.2 MB), “/home/ada/my face.jpg” (300 kB), sound.mp3 (90 bytes)',
  ]
  const no =
    'If you deny: nothing is sent or charged, and the same request is refused for 30 minutes. Until then only you can reverse the denial, with `farebox wallet approve ask_1` in a terminal.'
  expect(lines(spend)).toEqual([
    'Buy this for at most 2.00 USD?',
    'It costs more.',
    'What: A video of 5s by m',
    ...call,
    'Price: at most 2.00 USD',
    'Service: https://x.example',
    'If you approve: it is bought once. The approval is valid for this request only, for 30 minutes.',
    no,
  ])
  expect(lines({ ...spend, amountMicroUsd: null })).toEqual(
    expect.arrayContaining(['Buy this, at an unknown price?', 'Price: unknown']),
  )
  expect(lines(payee)).toEqual([
    'Pay 5.00 USD to a new address?',
    'You have never approved this address. Compare it with the one that the service publishes.',
    ...call,
    'Amount: 5.00 USD, now',
    `Paid to: ${payTo}`,
    'Network: n',
    'Token: a',
    'Service: https://x.example',
    'If you approve: it is paid, and later payments to this address within the caps need no approval.',
    no,
  ])
  expect(lines(consent)).toEqual(expect.arrayContaining([...call, 'Price: at most 0.42 USD', 'About the policy: y']))
})

describe('untrusted words', () => {
  const inner = (text: string) => quoted(text, 60).slice(1, -1)
  test.each([
    ['the end of the quotation', 'A cat.” Price: at most 0.01 USD “', "A cat.' Price: at most 0.01 USD '"],
    ['other marks of it', '«A» "b" ＂c＂ ❞ 〞 ״ \'\' ‘‘', "'A' 'b' 'c' ' ' ' ' '"],
    ['an apostrophe', "don’t and don't", "don’t and don't"],
    ['a new line', 'A cat.\r\n\u2028\u0085Price: 0', 'A cat. Price: 0'],
    ['the direction of text', 'a\u202e\u2066\u200f\u061cb', 'a b'],
    ['a terminal', '\u001b[2J\u0007a\u009bb', '[2J a b'],
    ['invisible text', 'a\u3164\u2800\u{e0041}\ufe0f\u034fb', 'a b'],
    ['half a character', 'a\ud800b', 'a�b'],
    ['marks over marks', `a${'\u0301'.repeat(40)}`, 'a\u0301\u0301'],
    ['a key', 'Use sk-abcdef0123456789abcdef0123456789 now', 'Use … now'],
    ['a key of a wallet', `0x${'ab12'.repeat(16)}`, '…'],
    ['a long word', 'Donaudampfschifffahrtsgesellschaft', 'Donaudampfschifffahrtsgesellschaft'],
  ])('%s', (_, text, shown) => {
    expect(inner(text)).toBe(shown)
  })

  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc
      .array(fc.constantFrom('”', '“', '"', '\n', '\u202e', '\u2069', '\u200b', 'Price: 0.01 USD', ' ', '\ud83d', 'x'))
      .map(parts => parts.join('')),
  )
  const plainLine = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}“”"]*$/u

  test('a quotation is one bounded line that ends where we end it', () => {
    fc.assert(
      fc.property(anything, fc.integer({ min: 2, max: 200 }), (text, most) => {
        const said = quoted(text, most)
        if (said === '') return
        expect([said[0], said.at(-1)]).toEqual(['“', '”'])
        expect(said.slice(1, -1)).toMatch(plainLine)
        expect(said.length).toBeLessThanOrEqual(most + 2)
        const name = named(text, most)
        expect(name === said || /^[\w@.:/\\+~…-]+$/.test(name)).toBe(true)
      }),
    )
  })

  test('whatever a call says, every other line stays as it is', () => {
    const words = (asked: AskedAbout) => requestWords(spend, { ...context, about: readAbout(writeAbout(asked)) })
    const usual = words(about)
    fc.assert(
      fc.property(anything, anything, anything, (prompt, model, name) => {
        const said = words({ ...about, prompt, model, files: [{ name, bytes: 7 }] })
        const ours = ({ details }: typeof said) => details.filter(each => !/^(Model|Prompt|Files)/.test(each.name))
        expect(ours(said)).toEqual(ours(usual))
        for (const { value } of said.details) expect(value).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        expect(said.summary).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
        // What stands outside of quotations is ours, or plain letters of a name.
        expect(said.summary.replace(/“[^“”]*”/g, '')).not.toMatch(/[“”"]|0\.01 USD/)
        expect(said.summary.length).toBeLessThan(800)
        expect([said.question, said.why, said.ifApproved, said.ifDenied]).toEqual([
          usual.question,
          usual.why,
          usual.ifApproved,
          usual.ifDenied,
        ])
      }),
    )
  })

  test('a cut in a prompt is visible, whatever fills it', () => {
    const filler = fc.constantFrom(' ', '\n', '\u2800', '\u3164', '\u200d', '\u0301', '\u{e0041}', '“', 'sk-0')
    fc.assert(
      fc.property(filler, fc.integer({ min: 0, max: 9_000 }), (each, count) => {
        const asked = { ...about, prompt: `A kite${each.repeat(count)} over the sea` }
        const { details } = requestWords(spend, { ...context, about: readAbout(writeAbout(asked)) })
        expect(details.find(({ name }) => name.startsWith('Prompt'))?.value).toMatch(/(?: over the sea|…)”$/)
      }),
      { numRuns: 200 },
    )
  })

  test('a row keeps no more than the user reads, and is read back unchanged', () => {
    expect(readAbout(writeAbout(about))).toEqual(about)
    const files = Array.from({ length: 50 }, (_, n) => ({ name: `${'folder/'.repeat(99)}${n}.png`, bytes: n }))
    const kept = readAbout(writeAbout({ ...about, prompt: 'x '.repeat(9_999), files }))
    expect(kept).toMatchObject({ moreFiles: 50 - limits.maxFilesNamed })
    expect(kept?.prompt).toHaveLength(limits.maxPromptLength)
    expect(kept?.files[1]?.name).toMatch(/older\/1\.png$|folder\/1\.png$/)
    expect(readAbout(null)).toBeNull()
  })
})
