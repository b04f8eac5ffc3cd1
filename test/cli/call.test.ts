import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readToolArguments } from '#cli/call/shell-call.ts'
import { defineTool } from '#toolkit/define.ts'
import { createKeyFile } from '#wallet/keys/key-file.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { payTo, pretendService } from '../agent/pretend-service.ts'
import { typedInto } from './at-terminal.ts'
import { runCommand } from './run-command.ts'

let service: Awaited<ReturnType<typeof pretendService>>
beforeEach(async () => {
  service = await pretendService({ quote: 2 })
})
afterEach(() => service.close())

/** A folder of its own for each, so that no test meets the calls of another. */
const environment = (more: NodeJS.ProcessEnv = {}) => ({
  FAREBOX_BASE_URL: service.baseUrl,
  FAREBOX_DATA: temporaryFolder(),
  ...more,
})
// A key counts in one folder of a machine, so each folder has its own.
const withWallet = (more: NodeJS.ProcessEnv = {}) =>
  environment({ FAREBOX_WALLET_KEY: randomBytes(32).toString('hex'), ...more })
const chat = ['call', 'chat', 'model=m', 'prompt=x = y, and "z"']
const video = ['call', 'video_create', 'model=m', 'prompt=a cat', 'duration=5s']

test('a paid call pays from the wallet; its result is on stdout, as words or as JSON', async () => {
  const env = withWallet({ FAREBOX_PAYEE: payTo })
  const said = await runCommand(chat, env)
  expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/answer \d+/) })
  const { code, stdout, stderr } = await runCommand([...chat, '--json', 'again=true'], env)
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ answer: expect.stringMatching(/^answer/), charged_usd: 0.001 })
  const sent = service.seen.filter(({ path }) => path.endsWith('/chat/completions')).at(-1)
  expect(JSON.parse(sent?.body ?? '{}').messages.at(-1).content).toBe('x = y, and "z"')
})

test('without wallet and key what is free works, and what is not names the command', async () => {
  const env = environment()
  for (const tool of ['models_find', 'wallet_status', 'wallet_receipts', 'job_list']) {
    expect(await runCommand(['call', tool, '--json'], env)).toMatchObject({ code: 0, stderr: '' })
  }
  const estimate = ['call', 'estimate', 'tool=chat', 'arguments={"model":"m","prompt":"hi"}']
  expect(await runCommand(estimate, env)).toMatchObject({ code: 0, stderr: '' })
  expect((await runCommand(['call', 'wallet_status'], env)).stdout).toContain(
    'only models_find, estimate, job_list, wallet_status and wallet_receipts work.',
  )
  const end = await runCommand(chat, env)
  expect(end).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('`farebox wallet create --service '),
  })
})

test.each([
  [['call'], /Name a tool: .*\bchat, /],
  [['call', 'chats', 'x=1'], /no tool `chats`\. Did you mean `chat`\? The tools are .*\bchat, /],
  [['call', 'chat', 'model=m'], /`prompt` is missing/],
  [[...chat, 'foo=1'], /`foo` is not an argument; the arguments are model, prompt, /],
  [[...chat, 'temperature=hot'], /`temperature` must be a number/],
  [[...chat, 'model=n'], /`model` appears twice.*`farebox call --list chat`/],
  [
    [...chat, 'stray'],
    /`stray` is not an argument of chat; write arguments as key=value\. Run `farebox call --list chat`/,
  ],
  [[...chat, '--max-tokens', '5'], /Unknown flag `--max-tokens`/],
  [['call', '--list', 'chat', 'x=1'], /`--list` takes one tool/],
])('%j is wrong usage, reported before anything is opened', async (args, says) => {
  const data = `${temporaryFolder()}/none`
  const end = await runCommand(args, environment({ FAREBOX_DATA: data }))
  expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(says) })
  expect(() => readFileSync(data)).toThrow('ENOENT')
})

describe('what the user has to decide', () => {
  test('is asked in the terminal, and the call continues after approval', async () => {
    const end = await typedInto([...chat, '--json'], ['yes'], withWallet())
    expect(end.stderr).toContain(payTo)
    expect(end.code).toBe(0)
    // The question is no part of the result.
    expect(JSON.parse(end.stdout)).toMatchObject({ answer: expect.stringMatching(/^answer/) })
  })

  test('each question of a call is asked: a price, then a payee', async () => {
    const end = await typedInto(video, ['yes', 'yes'], withWallet())
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('job_') })
    expect(end.stderr.match(/Type yes or no:/g)).toHaveLength(2)
  })

  test('and with a no nothing is sent', async () => {
    const queued = service.countOf('/video/queue')
    const end = await typedInto([...video, '--json'], ['no'], withWallet())
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was sent or charged.') })
    expect(JSON.parse(end.stdout)).toMatchObject({ status: 'declined' })
    expect(service.countOf('/video/queue')).toBe(queued)
  })

  test('approval needs the passphrase of an encrypted wallet', async () => {
    const env = environment()
    await createKeyFile(env.FAREBOX_DATA, 'a passphrase of some length')
    const typed = ['a passphrase of some length', 'yes', 'another passphrase']
    const end = await typedInto(video, typed, env)
    expect(end).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Wallet passphrase') })
    expect(end.stderr).not.toContain('a passphrase of some length')
  })

  test('without a terminal it stays pending, and is printed in full with the command to approve it', async () => {
    const env = withWallet()
    const said = await runCommand(video, env)
    expect(said).toMatchObject({ code: 1, stdout: expect.stringMatching(/farebox wallet approve \S+/) })
    const { code, stdout, stderr } = await runCommand([...video, '--json'], env)
    expect([code, JSON.parse(stdout)]).toEqual([
      1,
      expect.objectContaining({ status: 'needs_approval', approval_id: expect.any(String) }),
    ])
    expect(stderr).toMatch(/farebox wallet approve \S+/)
  })

  test('Ctrl-C at a question ends the call undecided', async () => {
    const stopping = new AbortController()
    const end = await typedInto(video, [() => stopping.abort()], withWallet(), { signal: stopping.signal })
    expect(end).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Stopped without a decision.') })
  })
})

test('an encrypted wallet is opened by a file, or at the terminal once it is needed', async () => {
  const env = environment({ FAREBOX_PAYEE: payTo })
  await createKeyFile(env.FAREBOX_DATA, 'a passphrase of some length')
  // What is free asks for nothing.
  expect(await typedInto(['call', 'models_find'], [], env)).toMatchObject({ code: 0, stderr: '' })
  expect(await runCommand(chat, env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--passphrase-file FILE'),
  })
  const end = await typedInto(chat, ['a passphrase of some length'], env)
  expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('answer') })
})

test('a failure that a wallet cannot fix does not ask for a passphrase', async () => {
  const env = environment()
  await createKeyFile(env.FAREBOX_DATA, 'a passphrase of some length')
  const wait = ['call', 'job_wait', 'job_id=job_0000000000000000']
  const end = await typedInto(wait, ['a passphrase of some length'], env)
  expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('job') })
  for (const { stderr } of [end, await runCommand(wait, env)]) expect(stderr).not.toMatch(/passphrase/i)
})

test('Ctrl-C cancels a call and says what may happen to it; repeating it costs nothing more', async () => {
  const stopping = new AbortController()
  const slow = await pretendService({
    credit: 5,
    instead({ path }) {
      if (path.endsWith('/chat/completions')) stopping.abort()
      return false
    },
  })
  try {
    const env = withWallet({ FAREBOX_BASE_URL: slow.baseUrl, FAREBOX_PAYEE: payTo })
    const end = await typedInto(chat, null, env, { signal: stopping.signal })
    expect(end).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^Stopped\. .*same call again/) })
    expect(await runCommand(chat, env)).toMatchObject({ code: 0, stdout: expect.stringContaining('answer 1') })
    expect(slow.ledger.chats).toBe(1)
  } finally {
    await slow.close()
  }
})

test('--list tells the tools, and what each takes', async () => {
  expect((await runCommand(['call', '--list'])).stdout).toMatch(/^chat +Asks another text model/m)
  expect((await runCommand(['call', '--list', 'chat'])).stdout).toMatch(/^prompt {2}string {2}required {2}\S/m)
  const { tools } = JSON.parse((await runCommand(['call', '--list', '--json'])).stdout)
  expect(tools).toContainEqual(expect.objectContaining({ name: 'chat', inputSchema: expect.any(Object) }))
})

describe('a word is read as the tool means it', () => {
  const tool = defineTool({
    name: 'all_kinds',
    set: 'core',
    title: '',
    description: '',
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({
      text: z.string(),
      count: z.number(),
      flag: z.boolean().default(false),
      kind: z.enum(['1', '2']),
      factor: z.union([z.literal(1), z.literal(2)]),
      either: z.union([z.number(), z.string()]),
      list: z.array(z.string()).optional(),
      one: z.union([z.string(), z.array(z.string())]),
      members: z.record(z.string(), z.number()),
      nothing: z.number().nullable(),
    }),
    output: z.object({}),
    run: async () => ({}),
    say: () => '',
  })
  const read = (word: string) => Object.values(readToolArguments('farebox call', tool, [word]))[0]

  test.each([
    ['text=true', 'true'],
    ['text=', ''],
    ['text=a=b', 'a=b'],
    ['text=["a"]', '["a"]'],
    ['count=-1.5', -1.5],
    ['count=1e3', 1000],
    ['count=0x10', '0x10'],
    ['count=five', 'five'],
    ['flag=true', true],
    ['flag=yes', 'yes'],
    ['kind=1', '1'],
    ['factor=2', 2],
    ['either=5', '5'],
    ['list=["a","b"]', ['a', 'b']],
    ['one=a', 'a'],
    ['one=["a"]', ['a']],
    ['one=[a', '[a'],
    ['members={"a":1}', { a: 1 }],
    ['nothing=null', null],
    ['toString=1', '1'],
  ])('%s', (word, value) => {
    expect(read(word)).toEqual(value)
  })

  test.each(['list=a', 'list=[a', 'members=a'])('%s must be JSON; the error shows an example', word => {
    expect(() => read(word)).toThrow(/takes JSON, such as (list=\["a","b"\]|members=\{"name":"value"\})/)
  })
})
