import type { ElicitResult } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { waitReportMs } from '#mcp/bounds.ts'
import { consent, payee, policyText, spend } from './approval-requests.ts'
import { type Connect, type Connection, connect, eras, textOf } from './connect.ts'
import { fakeHost } from './fake-host.ts'

let open: Connection[] = []
const opened = async (options: Connect) => {
  const connection = await connect(options)
  open.push(connection)
  return connection
}
afterEach(async () => {
  await Promise.all(open.map(connection => connection.disconnect()))
  open = []
})

const call = { name: 'video_create', arguments: { model: 'demo-video', prompt: 'A kite.', duration: '5s', image: 'a' } }
const clock = { now: () => Date.UTC(2026, 0, 2, 23, 51) }

/** The same words wherever it is asked; the policy's frame is longer than any mark in it. */
const said = `Do you consent to the policy of demo, version v2.0, for this request?
kite.png may show a person, so the service requires your consent.

Tool: video_create
Model: demo-video
Prompt (quoted): “A kite.”
Files: kite.png (1.2 MB)
Price: at most 0.25 USD
Service: http://127.0.0.1:8402
About the policy: https://docs.example/consent

<<<< full policy of demo
${policyText}
>>>> end of full policy of demo

By approving, you make these three statements:
- I have read the policy above and agree to its terms and privacy rules.
- I have the legal right to use this media, or the consent of everyone shown in it.
- I know that the media will be screened.

If you approve: the three statements are sent to the service with this request, and it is bought for at most 0.25 USD. For 30 minutes the same request needs no further consent. The service may remember your consent for these media and this version of the policy; farebox still asks you about every other request with them.
If you deny: nothing is sent or charged, and the same request is refused for 30 minutes. Until then only you can reverse the denial, with \`farebox wallet approve\` in a terminal.
The request appr_consent is open until 2026-01-03 00:00 UTC, in 9 minutes.`

const allTicked = { termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
const accept = (content: Record<string, boolean | string>): ElicitResult => ({ action: 'accept', content })

const abilities = [
  ['elicitation: {}', { elicitation: {} }],
  ['elicitation: { form: {} }', { elicitation: { form: {} } }],
] as const

describe.each(eras)('in the %s era', era => {
  describe.each(abilities)('with %s', (_name, capabilities) => {
    test('consent is requested as three unticked boxes under the whole policy, and the call continues', async () => {
      const { host, seen } = fakeHost({ questions: [consent] })
      const asked: { message: string; schema: unknown }[] = []
      const { client } = await opened({
        era,
        host,
        clock,
        capabilities,
        elicit(message, schema) {
          asked.push({ message, schema })
          return accept(allTicked)
        },
      })
      await client.listTools()
      const result = await client.callTool(call)
      expect(asked).toHaveLength(1)
      expect(asked[0]?.message).toBe(`${said}
This form is open for 10 minutes. To approve, tick all three statements. To deny, decline the form. If you submit it without ticking all three, nothing is decided and you may be asked again.`)
      const form = asked[0]?.schema as { properties: Record<string, { type: string; default: boolean }> } | undefined
      expect(Object.entries(form?.properties ?? {}).map(([name, box]) => [name, box.type, box.default])).toEqual([
        ['termsAndPrivacy', 'boolean', false],
        ['legalRight', 'boolean', false],
        ['screeningAcknowledged', 'boolean', false],
      ])
      expect(seen.given).toEqual([{ approvalId: 'appr_consent', answer: { kind: 'consent', ...allTicked } }])
      expect(seen.calls.map(done => done.operation)).toEqual(['queueVideo'])
      expect(result.structuredContent).toMatchObject({ job_id: 'job_1', charged_usd: 0.25 })
    })
  })

  const noes: [why: string, question: typeof consent | typeof spend | typeof payee, answer: ElicitResult][] = [
    ['declined', consent, { action: 'decline' }],
    ['a price declined', spend, { action: 'decline' }],
    ['a payee declined', payee, { action: 'decline' }],
  ]
  test.each(noes)('a denial ends the call, and nothing is sent: %s', async (_why, question, answer) => {
    const { host, seen } = fakeHost({ questions: [question] })
    const { client } = await opened({ era, host, clock, capabilities: { elicitation: {} }, elicit: () => answer })
    await client.listTools()
    const result = await client.callTool(call)
    expect(result.isError).toBeFalsy()
    expect(textOf(result)).toBe(
      `The user denied this. Nothing was sent or charged. The same call is refused until 2026-01-03 00:00 UTC, in 9 minutes; after that, the user is asked again. Only the user can reverse this earlier, with \`farebox wallet approve ${question.approvalId}\` in a terminal. Do not ask again unless the user wants to.`,
    )
    expect(result.structuredContent).toEqual({
      ...{ status: 'declined', approval_id: question.approvalId },
      next_step: expect.stringContaining('Only the user can reverse this'),
      expires_at: '2026-01-03T00:00:00.000Z',
    })
    expect(seen.calls).toEqual([])
    expect(seen.given).toHaveLength(1)
  })

  const undecided: [what: string, question: typeof consent | typeof spend | typeof payee, answer: ElicitResult][] = [
    ['a consent closed', consent, { action: 'cancel' }],
    ['a price closed', spend, { action: 'cancel' }],
    ['a payee closed', payee, { action: 'cancel' }],
    ['one box left', consent, accept({ ...allTicked, legalRight: false })],
    ['no box sent', consent, accept({})],
    ['a word is not a tick', consent, accept({ ...allTicked, legalRight: 'true' })],
    ['a price not ticked', spend, accept({ approved: false })],
  ]
  test.each(undecided)(
    '%s decides nothing: no answer is recorded, and the same call asks again',
    async (_what, question, first) => {
      const { host, seen } = fakeHost({ questions: [question] })
      const actions: ElicitResult[] = [first, accept({ ...allTicked, approved: true })]
      const { client } = await opened({
        era,
        host,
        capabilities: { elicitation: {} },
        elicit: () => actions.shift() ?? { action: 'decline' },
      })
      await client.listTools()
      const closed = await client.callTool(call)
      expect(closed.isError).toBeFalsy()
      expect(textOf(closed)).toMatch(/without deciding\. Nothing was sent or charged\. Make the same call to ask again/)
      expect(closed.structuredContent).toEqual({
        ...{ status: 'needs_approval', approval_id: question.approvalId },
        next_step: 'Make the same call to ask again when the user wants to.',
      })
      expect(seen).toMatchObject({ calls: [], given: [] })
      expect((await client.callTool(call)).structuredContent).toMatchObject({ job_id: 'job_1' })
      expect(seen.given).toHaveLength(1)
    },
  )

  const alone: [what: string, answer: ElicitResult][] = [
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
    ['submits nothing', accept({})],
    ['fills in other fields', accept({ ok: true })],
  ]
  test.each(alone)('a client that %s before a user can read the form decides nothing', async (_what, answer) => {
    const { host, seen } = fakeHost({ questions: [spend] })
    let asked = 0
    const elicit = () => {
      asked += 1
      return answer
    }
    const { client } = await opened({ era, host, clock, capabilities: { elicitation: {} }, elicit, readingMs: 999 })
    for (let time = 0; time < 2; time += 1) {
      const result = await client.callTool(call)
      expect(textOf(result)).toMatch(/^This needs the user’s approval\..*Run `farebox wallet approve` in a terminal\./s)
      expect(result.structuredContent).toMatchObject({ status: 'needs_approval', approval_id: 'appr_spend' })
    }
    expect(asked, 'the same form is not sent to it again').toBe(1)
    expect(seen).toMatchObject({ calls: [], given: [] })
  })

  test('the call of an older client reports progress while the user reads, so that the client keeps waiting', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { host } = fakeHost({ questions: [spend] })
    const elicit = async () => {
      await vi.advanceTimersByTimeAsync(waitReportMs)
      return accept({ approved: true })
    }
    const { client } = await opened({ era, host, capabilities: { elicitation: {} }, elicit })
    const reports: (string | undefined)[] = []
    await client.callTool(call, { onprogress: ({ message }) => reports.push(message) })
    await vi.advanceTimersByTimeAsync(10 * waitReportMs)
    const waiting = reports.filter(message => message === 'Waiting for the user')
    expect(waiting).toHaveLength(era === 'legacy' ? 1 : 0)
  })

  test('a client that never answers a form is told where the user decides, from the next call on', async () => {
    const { host, seen } = fakeHost({ questions: [payee, spend] })
    const asked: string[] = []
    let nowMs = Date.UTC(2026, 0, 2)
    const { client } = await opened({
      era,
      host,
      clock: { now: () => nowMs },
      capabilities: { elicitation: {} },
      autoFulfill: false,
      elicit(message) {
        asked.push(message)
        return new Promise(() => {})
      },
    })
    const ask = () => client.request({ method: 'tools/call', params: call }, { allowInputRequired: true, timeout: 500 })
    const isAsked = async () => {
      if (era === 'modern') return expect(await ask()).toMatchObject({ resultType: 'input_required' })
      const before = asked.length
      await expect(ask()).rejects.toThrow('timed out')
      expect(asked).toHaveLength(before + 1)
    }
    await isAsked()
    nowMs += 60_000
    for (let time = 0; time < 2; time += 1) {
      expect(await ask()).toMatchObject({
        structuredContent: { status: 'needs_approval', approval_id: payee.approvalId },
      })
    }
    await host.answer(payee.approvalId, { kind: 'approve', approved: true })
    // Another form may be answered.
    await isAsked()
    expect(seen).toMatchObject({ calls: [], given: [{ approvalId: payee.approvalId }] })
  })

  test('three requests in a row are shown, each once', async () => {
    const { host, seen } = fakeHost({ questions: [payee, spend, consent] })
    const messages: string[] = []
    const { client } = await opened({
      era,
      host,
      capabilities: { elicitation: {} },
      elicit(message) {
        messages.push(message)
        return accept({ approved: true, ...allTicked })
      },
    })
    const result = await client.callTool(call)
    expect(messages.map(message => message.split('\n')[0])).toEqual([
      'Pay 5.00 USD to a new address?',
      'Buy this for at most 2.50 USD?',
      'Do you consent to the policy of demo, version v2.0, for this request?',
    ])
    expect(messages[0]).toContain('Paid to: 0x00000000000000000000000000000000000000aa')
    expect(messages[1]).toContain('Price: at most 2.50 USD')
    expect(seen.given.map(({ answer }) => answer.kind)).toEqual(['approve', 'approve', 'consent'])
    expect(result.structuredContent).toMatchObject({ job_id: 'job_1' })
  })

  test('a client that breaks while it asks has decided nothing', async () => {
    const { host, seen } = fakeHost({ questions: [spend] })
    const { client } = await opened({
      era,
      host,
      capabilities: { elicitation: {} },
      elicit: () => Promise.reject(new Error('no window to ask in')),
    })
    const ask = () => client.callTool(call).catch((error: Error) => ({ isError: true, content: [], error }))
    const result = await ask()
    expect(result.isError).toBe(true)
    if (era === 'legacy') {
      expect(textOf(result)).toBe(
        'The client did not ask the user. Nothing was charged. Make the same call again: its result then shows what the user can do.',
      )
      expect(await ask()).toMatchObject({ structuredContent: { status: 'needs_approval', approval_id: 'appr_spend' } })
    }
    expect(seen).toMatchObject({ given: [], calls: [] })
  })

  test('a fourth request in one call is left to the approval page', async () => {
    const questions = ['a', 'b', 'c', 'd'].map(approvalId => ({ ...spend, approvalId }))
    const { host, seen } = fakeHost({ questions })
    const { client } = await opened({
      era,
      host,
      capabilities: { elicitation: {} },
      elicit: () => accept({ approved: true }),
    })
    const result = await client.callTool(call)
    expect(seen.given).toHaveLength(3)
    expect(result.structuredContent).toMatchObject({ status: 'needs_approval', approval_id: 'd' })
  })

  test.each([
    ['nothing', {}],
    ['URLs alone', { elicitation: { url: {} } }],
  ])('a client that can show %s gets the policy whole and where to approve', async (_what, capabilities) => {
    const { host, seen } = fakeHost({ questions: [consent] })
    const { client } = await opened({ era, host, clock, capabilities })
    await client.listTools()
    const result = await client.callTool(call)
    expect(result.isError).toBeFalsy()
    expect(textOf(result)).toBe(`This needs the user’s approval. Nothing was sent or charged.
Show the user all of the following, word for word:

${said}

Run \`farebox wallet approve\` in a terminal. Only the user can do this; no tool argument can. Afterwards call video_create again with the same arguments.`)
    expect(result.structuredContent).toMatchObject({ status: 'needs_approval', approval_id: 'appr_consent' })
    expect(seen).toMatchObject({ calls: [], given: [] })
  })
})

describe('the state that the client keeps until the user has answered', () => {
  const asking = async (questions = [spend]) => {
    const fake = fakeHost({ questions })
    const connection = await opened({
      era: 'modern',
      host: fake.host,
      capabilities: { elicitation: {} },
      elicit: () => accept({ approved: true }),
      autoFulfill: false,
    })
    const first = await connection.client.request({ method: 'tools/call', params: call }, { allowInputRequired: true })
    return { ...fake, ...connection, state: String((first as { requestState?: string }).requestState) }
  }
  const answered = (requestState: string, params: Record<string, unknown> = call) => ({
    method: 'tools/call' as const,
    params: { ...params, requestState, inputResponses: { decision: accept({ approved: true }) } },
  })

  test('it lets the same call continue', async () => {
    const { client, state, seen } = await asking()
    await client.request(answered(state))
    expect(seen.given).toEqual([{ approvalId: 'appr_spend', answer: { kind: 'approve', approved: true } }])
    expect(seen.calls).toHaveLength(1)
  })

  const body = (state: string) => JSON.parse(Buffer.from(state.split('.')[1] ?? '', 'base64url').toString())
  const rewritten = (state: string) => {
    const [version, , mac] = state.split('.')
    const forged = { ...body(state), p: { ...body(state).p, approvalId: 'appr_other' } }
    return [version, Buffer.from(JSON.stringify(forged)).toString('base64url'), mac].join('.')
  }
  const tampered: [why: string, change: (state: string) => Parameters<typeof answered>][] = [
    ['another approval written into it', state => [rewritten(state)]],
    ['a signature cut off', state => [state.slice(0, -3)]],
    ['nonsense', () => ['v1.e30.AAAA']],
    ['other arguments', state => [state, { ...call, arguments: { ...call.arguments, duration: '30s' } }]],
    ['another tool', state => [state, { ...call, name: 'image_create' }]],
  ]
  test.each(tampered)('it is refused: %s', async (_why, change) => {
    const { client, state, seen } = await asking()
    await expect(client.request(answered(...change(state)))).rejects.toMatchObject({ code: -32602 })
    expect(seen, 'no answer is recorded and nothing is bought').toMatchObject({ given: [], calls: [] })
  })

  test('that of another process is refused', async () => {
    const { state } = await asking()
    const { client, seen } = await asking()
    await expect(client.request(answered(state))).rejects.toMatchObject({ code: -32602 })
    expect(seen.given).toEqual([])
  })

  test('without an answer beside it the user is asked again', async () => {
    const { client, state, seen } = await asking()
    const params = { ...call, requestState: state }
    const again = await client.request({ method: 'tools/call', params }, { allowInputRequired: true })
    expect(again).toMatchObject({ resultType: 'input_required' })
    expect(seen.given).toEqual([])
  })

  test('an older client cannot bring one along', async () => {
    const { state } = await asking()
    const { host, seen } = fakeHost({ questions: [spend] })
    const { client } = await opened({ era: 'legacy', host })
    const result = await client.request(answered(state)).catch(() => undefined)
    expect(seen).toMatchObject({ given: [], calls: [] })
    if (result) expect(result).toMatchObject({ structuredContent: { status: 'needs_approval' } })
  })
})
