import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { microUsd, zeroUsd } from '#contract/money.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { type Connect, type Connection, connect, eras, textOf } from './connect.ts'
import { doneJob, fakeHost, madeFile, runningJob } from './fake-host.ts'

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

const video = { model: 'demo-video', prompt: 'A kite.', duration: '5s' }

describe.each(eras)('in the %s era', era => {
  test('a paid call answers in words and in structure, with what it cost', async () => {
    const { host } = fakeHost()
    const { client } = await opened({ era, host })
    await client.listTools()
    const result = await client.callTool({ name: 'video_create', arguments: video })
    expect(result.isError).toBeFalsy()
    expect(result.structuredContent).toMatchObject({
      job_id: 'job_1',
      state: 'running',
      started_at: '2026-01-02T03:04:05.000Z',
      charged_usd: 0.25,
      credit_left_usd: 4.75,
      budget_left_usd: 5,
    })
    expect(textOf(result)).toBe(
      'Job job_1 is queued; such jobs take about 60 s. Call job_wait with this id. Charged 0.25 USD. Credit left: 4.75 USD. The wallet may still pay 5.00 USD today. Job of demo-video, started 2026-01-02 03:04 UTC, 0.25 USD.',
    )
  })

  test('a saved file is linked', async () => {
    const { host } = fakeHost()
    const { client } = await opened({ era, host })
    const { content } = await client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } })
    expect(content[1]).toMatchObject({
      type: 'resource_link',
      // On Windows it has a drive too.
      uri: pathToFileURL('/home/ann/farebox files/a b.mp4').href,
      name: 'a b.mp4',
      mimeType: 'video/mp4',
    })
  })

  test.each([
    ['image_create', { model: 'demo-image', prompt: 'A kite.' }],
    ['image_edit', { model: 'demo-edit', prompt: 'grey', images: ['a.png'] }],
    ['image_upscale', { image: 'a.png' }],
    ['image_remove_background', { image: 'a.png' }],
    ['job_wait', { job_id: 'job_1' }],
  ])(
    '%s shows a small image by itself, none where that is not wanted, and sends no word of it',
    async (name, given) => {
      const { host, seen } = fakeHost({ jobs: [{ ...doneJob, file: madeFile }] })
      const { client } = await opened({ era, host })
      const kinds = async (more: object) => {
        const { content } = await client.callTool({ name, arguments: { ...given, ...more } })
        return content.map(({ type }) => type)
      }
      expect(await kinds({ preview: true })).toEqual(['text', 'image', 'resource_link'])
      expect(await kinds({})).toEqual(['text', 'image', 'resource_link'])
      expect(await kinds({ preview: false })).toEqual(['text', 'resource_link'])
      expect(JSON.stringify(seen.calls)).not.toContain('preview')
    },
  )

  test('a frame of a video is shown where it is asked for', async () => {
    const { client } = await opened({ era, host: fakeHost().host })
    const kinds = async (more: object) => {
      const { content } = await client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1', ...more } })
      return content.map(({ type }) => type)
    }
    expect(await kinds({})).toEqual(['text', 'resource_link'])
    expect(await kinds({ preview: true })).toEqual(['text', 'image', 'resource_link'])
  })

  test.each([
    ['a short recording is a block beside its link', 'mcp-inspector', 400_000, ['text', 'audio', 'resource_link']],
    ['a longer one is linked alone', 'mcp-inspector', 400_001, ['text', 'resource_link']],
    ['a client that does not say that it plays audio has the link', 'test', 1_000, ['text', 'resource_link']],
    ['a program that would send the audio to a model as text gets none', 'mcp', 1_000, ['text']],
  ])('%s', async (_what, name, bytes, kinds) => {
    const spoken = { path: '/home/ann/a.mp3', mimeType: 'audio/mpeg', bytes }
    const { client } = await opened({ era, name, host: fakeHost({ made: [spoken] }).host })
    const { content } = await client.callTool({ name: 'speech_create', arguments: { model: 'm', text: 'Hello.' } })
    expect(content.map(({ type }) => type)).toEqual(kinds)
    expect(content.find(({ type }) => type === 'audio') ?? { mimeType: 'audio/mpeg' }).toMatchObject({
      mimeType: 'audio/mpeg',
    })
  })

  test.each([
    ['test', { images: 4, imagePixels: 512, imageBytes: 100_000 }],
    ['claude-code', { images: 1, imagePixels: 384, imageBytes: 24_000 }],
    ['Claude-Code (nightly)', { images: 1, imagePixels: 384, imageBytes: 24_000 }],
    ['local-agent-mode-farebox', { images: 1, imagePixels: 384, imageBytes: 24_000 }],
  ])('%s is shown as many images, and as large ones, as it takes', async (name, { images, ...within }) => {
    const made = Array.from({ length: 6 }, (_, index) => ({ ...madeFile, path: `/home/ann/${index}.png` }))
    const { host, seen } = fakeHost({ made })
    const { client } = await opened({ era, name, host })
    const { content } = await client.callTool({ name: 'image_create', arguments: { model: 'm', prompt: 'A kite.' } })
    expect(content.filter(({ type }) => type === 'image')).toHaveLength(images)
    expect(
      content.filter(({ type }) => type === 'resource_link'),
      'no file is lost',
    ).toHaveLength(6)
    expect(seen.previews).toHaveLength(images)
    for (const asked of seen.previews) expect(asked).toMatchObject(within)
  })

  test.each([
    ['a client whose views get no result with a link', 'claude-ai'],
    ['a client that sends links to a provider of models', 'mcp'],
  ])('%s gets none: the text has the path', async (_what, name) => {
    const { client } = await opened({ era, name, host: fakeHost().host })
    const result = await client.callTool({ name: 'image_create', arguments: { model: 'm', prompt: 'A kite.' } })
    expect(result.content.map(({ type }) => type)).toEqual(['text', 'image'])
    expect(textOf(result)).toContain(madeFile.path)
    expect(result.structuredContent).toMatchObject({ files: [{ path: madeFile.path }] })
  })

  test('a client that sends linked images to the model gets links without their type', async () => {
    const { client } = await opened({ era, name: 'Visual Studio Code - Insiders', host: fakeHost().host })
    const images = await client.callTool({ name: 'image_create', arguments: { model: 'm', prompt: 'A kite.' } })
    const videos = await client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } })
    const links = [images, videos].flatMap(({ content }) => content.filter(({ type }) => type === 'resource_link'))
    expect(links.map(link => 'mimeType' in link)).toEqual([false, true])
  })

  test('the host is made at the first call, once, and closed with the connection', async () => {
    const { host, seen } = fakeHost()
    const connection = await opened({ era, host })
    await connection.client.listTools()
    await connection.client.listPrompts()
    await connection.client.getPrompt({ name: 'make-a-video', arguments: { idea: 'A kite.' } })
    await connection.client.callTool({ name: 'chat', arguments: {} })
    expect(connection.hostsMade(), 'no list, prompt or wrong argument needs it').toBe(0)
    await connection.client.callTool({ name: 'limits', arguments: {} })
    await connection.client.callTool({ name: 'wallet_status', arguments: {} })
    expect(connection.hostsMade()).toBe(1)
    await connection.disconnect()
    expect(seen.events).toEqual(['closed'])
  })

  test('waiting reports growing progress, and still running is a success', async () => {
    const reports = [
      { message: 'queued', done: 5, total: 60 },
      { message: 'dropped, because it follows too soon', done: 6, total: 60 },
    ]
    const { host } = fakeHost({ reports, jobs: [runningJob] })
    const { client } = await opened({ era, host })
    const progress: unknown[] = []
    const result = await client.callTool(
      { name: 'job_wait', arguments: { job_id: 'job_1' } },
      { onprogress: value => progress.push(value) },
    )
    expect(result.isError).toBeFalsy()
    expect(textOf(result)).toContain('still running')
    expect(progress).toEqual([{ progress: 5, total: 60, message: 'queued' }])
  })

  test('progress counts in integers, grows, and keeps its total', async () => {
    const reports = [
      { message: 'queued' },
      { message: 'begun', done: 2.4, total: 3.6 },
      { message: 'the same second', done: 2.4, total: 3.6 },
      { message: 'longer than usual', done: 9.9, total: 3.6 },
      { message: 'saving' },
    ]
    let nowMs = 0
    const clock = { now: () => (nowMs += 1_000) }
    const { client } = await opened({ era, host: fakeHost({ reports, jobs: [runningJob] }).host, clock })
    const progress: unknown[] = []
    await client.callTool(
      { name: 'job_wait', arguments: { job_id: 'job_1' } },
      { onprogress: value => progress.push(value) },
    )
    expect(progress).toEqual([
      { progress: 1, message: 'queued' },
      { progress: 2, total: 4, message: 'begun' },
      { progress: 3, total: 4, message: 'the same second' },
      { progress: 10, total: 10, message: 'longer than usual' },
      { progress: 11, total: 11, message: 'saving' },
    ])
  })

  test('without a progress token no progress is sent', async () => {
    const { host } = fakeHost({ reports: [{ message: 'queued' }] })
    const { client, written } = await opened({ era, host })
    await client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } })
    expect(written()).not.toContain('notifications/progress')
  })

  test('a cancelled call stops its work', async () => {
    const { host, seen } = fakeHost({ waitsForever: true })
    const { client, log } = await opened({ era, host })
    const controller = new AbortController()
    const call = client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } }, { signal: controller.signal })
    await expect.poll(() => seen.waitedMs.length).toBe(1)
    controller.abort(new Error('the user left'))
    await expect(call).rejects.toThrow()
    await expect.poll(() => seen.events).toEqual(['stopped'])
    expect(log, 'leaving is no fault').toEqual([])
  })

  test('closing the connection stops calls in flight before the host is closed', async () => {
    const { host, seen } = fakeHost({ waitsForever: true })
    const connection = await opened({ era, host })
    const call = connection.client.callTool({ name: 'job_wait', arguments: { job_id: 'job_1' } })
    const ended = expect(call).rejects.toThrow()
    await expect.poll(() => seen.waitedMs.length).toBe(1)
    await connection.disconnect()
    await ended
    expect(seen.events).toEqual(['stopped', 'closed'])
  })
})

const refusals: [why: string, tool: string, given: Record<string, unknown>, says: string[]][] = [
  ['a missing argument', 'chat', { prompt: 'x' }, ['`model` is missing (string)']],
  ['a wrong type', 'job_list', { limit: 'ten' }, ['`limit` must be a number']],
  ['too much', 'job_wait', { job_id: 'j', wait_seconds: 46 }, ['`wait_seconds` must be at most 45']],
  ['below the minimum top-up', 'wallet_top_up', { amount_usd: 1 }, ['`amount_usd` must be at least 5']],
  [
    'a value that no model has',
    'video_create',
    { model: 'm', duration: '1h', prompt: 'x' },
    ['`duration` must be one of 2s, 3s', 'Auto'],
  ],
  ['an unknown type', 'models_find', { type: 'hologram' }, ['`type` must be one of asr', 'all']],
  [
    'consent by argument',
    'video_create',
    { ...video, consents: { demo: {} } },
    ['`consents` is not an argument', 'negative_prompt'],
  ],
  [
    'an option that has no effect in a tool',
    'chat',
    { model: 'm', prompt: 'p', service_parameters: { include_search_results_in_stream: true } },
    ['`service_parameters.include_search_results_in_stream` is unknown'],
  ],
  ['a limit by argument', 'chat', { model: 'm', prompt: 'p', max_usd: 99 }, ['`max_usd` is not an argument']],
  [
    'approval by argument',
    'wallet_top_up',
    { amount_usd: 5, approved: true },
    ['`approved` is not an argument; the arguments are amount_usd, again'],
  ],
]
test.each(refusals)('refused: %s', async (_why, name, given, says) => {
  const { host, seen } = fakeHost()
  const { client } = await opened({ host })
  const result = await client.callTool({ name, arguments: given })
  expect(result.isError).toBe(true)
  for (const part of says) expect(textOf(result)).toContain(part)
  expect(textOf(result)).toContain('Nothing was charged.')
  expect(seen.calls).toEqual([])
})

const failures: [why: string, facts: ConstructorParameters<typeof ToolFailure>[0], says: RegExp][] = [
  [
    'a limit',
    { happened: 'The limit is reached.', charged: zeroUsd, retryAtMs: Date.now() + 600_000, next: 'Wait.' },
    /^The limit is reached\. Nothing was charged\. Retry in (5\d\d|600) s, at 20\d\d-.*Z\. Wait\.$/,
  ],
  [
    'a lost answer',
    { happened: 'The answer was lost.', charged: 'unknown', next: 'Call it again.' },
    /^The answer was lost\. The charge is unknown; .* Call it again\.$/,
  ],
  [
    'a charge',
    { happened: 'It broke off.', charged: microUsd(1500), next: 'Ask for less.' },
    /^It broke off\. 0\.0015 USD was charged\. Ask for less\.$/,
  ],
]
test.each(failures)('a failure says what happened, what it cost and what next: %s', async (_why, facts, says) => {
  const { host } = fakeHost({ failure: new ToolFailure(facts) })
  const { client } = await opened({ host })
  const result = await client.callTool({ name: 'chat', arguments: { model: 'm', prompt: 'p' } })
  expect(result.isError).toBe(true)
  expect(textOf(result)).toMatch(says)
})

test('an unforeseen error names a reference, and its details are one log line without secrets', async () => {
  const secret = `0x${'ab'.repeat(32)}`
  const { host } = fakeHost({ failure: new TypeError(`cannot sign\nwith ${secret}`) })
  const { client, log } = await opened({ host })
  const result = await client.callTool({ name: 'limits', arguments: {} })
  expect(result.isError).toBe(true)
  const reference = /Internal error, reference ([0-9a-f]{8});/.exec(textOf(result))?.[1]
  expect(textOf(result)).not.toMatch(/TypeError|cannot sign/)
  expect(log).toHaveLength(1)
  expect(log[0]).not.toContain('\n')
  expect(log.join()).not.toContain(secret.slice(0, 20))
  expect(JSON.parse(log[0] ?? '')).toMatchObject({ reference, where: 'limits', error: 'TypeError' })
})

test('an answer that breaks its own output schema is a fault, not an answer', async () => {
  const { host } = fakeHost({ jobs: [{ ...runningJob, state: 'lost' as never }] })
  const { client, log } = await opened({ host })
  expect((await client.callTool({ name: 'job_wait', arguments: { job_id: 'j' } })).isError).toBe(true)
  expect(log).toHaveLength(1)
})

test('a host that could not be made is tried again by the next call', async () => {
  const { host } = fakeHost()
  let tries = 0
  const { client } = await opened({
    async host() {
      tries += 1
      if (tries === 1) throw new ToolFailure({ happened: 'No key is set.', charged: zeroUsd, next: 'Run one command.' })
      return host
    },
  })
  const first = await client.callTool({ name: 'limits', arguments: {} })
  expect([first.isError, textOf(first)]).toEqual([true, 'No key is set. Nothing was charged. Run one command.'])
  expect((await client.callTool({ name: 'limits', arguments: {} })).isError).toBeFalsy()
})

test('chosen tools alone are listed and callable, in the order of the listing', async () => {
  const { client } = await opened({ host: fakeHost().host, tools: ['limits', 'chat'] })
  expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['chat', 'limits'])
  await expect(client.callTool({ name: 'job_list', arguments: {} })).rejects.toThrow(
    'No tool is called job_list. The tools here are chat, limits.',
  )
  await expect(connect({ host: fakeHost().host, tools: ['chta'] })).rejects.toThrow(
    '`chta` is neither a tool nor a set; the sets are core, wallet,',
  )
})

test('again reaches the call, and only where it was asked for', async () => {
  const { host, seen } = fakeHost()
  const { client } = await opened({ host })
  await client.callTool({ name: 'video_create', arguments: video })
  await client.callTool({ name: 'video_create', arguments: { ...video, again: true } })
  expect(seen.calls.map(call => call.options?.again)).toEqual([undefined, true])
  expect(seen.calls[1]?.body, 'the service never sees it').not.toHaveProperty('again')
})

test('the prompt asks before it spends, and names the budget where there is one', async () => {
  const { client } = await opened({ host: fakeHost().host })
  const get = async (values: Record<string, string>) => {
    const { messages } = await client.getPrompt({ name: 'make-a-video', arguments: values })
    const content = messages[0]?.content
    return content?.type === 'text' ? content.text : ''
  }
  expect(await get({ idea: 'A kite.' })).toMatch(/A kite\.[\s\S]*Wait for my approval/)
  expect(await get({ idea: 'A kite.', budget_usd: '0.50' })).toContain('at most 0.50 USD')
  await expect(get({ idea: 'A kite.', budget_usd: 'all' })).rejects.toThrow('an amount such as 0.50')
  await expect(get({})).rejects.toThrow('`idea` is missing')
})
